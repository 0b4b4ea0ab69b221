// Functions of numpy.linalg that are one generalized ufunc of numpy.linalg._umath_linalg, on one
// matrix each.
#pragma once

#include <string_view>

namespace numlift::numpy_shim {

struct LinearAlgebra {
  std::string_view path;  // the public function
  const char* gufunc;
  int ranks[2];  // of its operands; 0: there is none
  // Raises LinAlgError where the loop meets "invalid", whatever errstate says, and is silent about
  // all else.
  bool raises;
};

inline constexpr LinearAlgebra kLinearAlgebra[] = {
    {"numpy.linalg.inv", "inv", {2, 0}, true},
    {"numpy.linalg.solve", "solve", {2, 2}, true},
    {"numpy.linalg.solve", "solve1", {2, 1}, true},
    {"numpy.linalg.cholesky", "cholesky_lo", {2, 0}, true},
    {"numpy.linalg.det", "det", {2, 0}, false}};

}  // namespace numlift::numpy_shim
