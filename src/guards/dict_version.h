// Has a dict changed since? CPython up to 3.13 keeps a version tag in each dict that changes with
// every store of another object. Later versions have none: then a dict always counts as changed,
// and guards compare values. The only place outside frame_eval/cpython that knows the Python
// version.
#pragma once

#include "numlift/py/python.h"

#include <cstdint>

namespace numlift::guards {

inline constexpr bool kDictsHaveVersions = PY_VERSION_HEX < 0x030E0000;

#if PY_VERSION_HEX < 0x030E0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
inline uint64_t dict_version(PyObject* dict) {
  return reinterpret_cast<PyDictObject*>(dict)->ma_version_tag;
}
#pragma GCC diagnostic pop
#else
inline uint64_t dict_version(PyObject*) { return 0; }
#endif

}  // namespace numlift::guards
