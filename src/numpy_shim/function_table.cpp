// Reads functions.def: parameter lists are parsed and names looked up once.
#include "numlift/numpy_shim/function_table.h"

#include <unordered_map>

#include "numlift/py/py_error.h"
#include "numlift/support/check.h"

namespace numlift::numpy_shim {
namespace {

std::vector<Parameter> parse_parameters(std::string_view text) {
  std::vector<Parameter> parameters;
  bool keyword_only = false;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    std::string_view item = text.substr(0, comma);
    text = comma == std::string_view::npos ? std::string_view() : text.substr(comma + 1);
    while (!item.empty() && item.front() == ' ') item.remove_prefix(1);
    while (!item.empty() && item.back() == ' ') item.remove_suffix(1);
    if (item.empty() || item == "/") continue;
    if (item == "*") {
      keyword_only = true;
      continue;
    }
    Parameter parameter;
    parameter.keyword_only = keyword_only;
    if (item.front() == '*') {
      parameter.variadic = true;
      parameter.required = false;
      keyword_only = true;
      item.remove_prefix(1);
    } else if (item.back() == '=') {
      parameter.required = false;
      item.remove_suffix(1);
    }
    parameter.name = item;
    parameters.push_back(std::move(parameter));
  }
  return parameters;
}

// Null when the installed NumPy has no such name.
Ref find_object(const std::string& path) {
  const size_t dot = path.rfind('.');
  Ref module = checked(PyImport_ImportModule(path.substr(0, dot).c_str()));
  Ref object = Ref::steal(PyObject_GetAttrString(module.get(), path.substr(dot + 1).c_str()));
  if (!object) PyErr_Clear();
  return object;
}

struct Table {
  std::vector<FunctionEntry> entries;
  std::unordered_map<PyObject*, uint32_t> functions;
  std::unordered_map<std::string, uint32_t> methods;

  Table() {
    auto add_function = [&](const char* path, Tier tier, const char* parameters,
                            const char* reason) {
      const auto row = static_cast<uint32_t>(entries.size());
      entries.push_back({row, path, tier, reason, parse_parameters(parameters)});
      // The reference is kept for good: the address must not come to name another object.
      if (PyObject* object = find_object(path).release()) functions.emplace(object, row);
    };
    auto add_method = [&](const char* name, Tier tier, const char* parameters, const char* reason) {
      const auto row = static_cast<uint32_t>(entries.size());
      std::vector<Parameter> all = parse_parameters(parameters);
      if (!all.empty() || tier != Tier::kExtern) {
        all.insert(all.begin(), Parameter{"a", true, false, false});
      }
      entries.push_back({row, std::string("ndarray.") + name, tier, reason, std::move(all)});
      methods.emplace(name, row);
    };
#define NUMLIFT_NATIVE(path, handler, parameters) add_function(path, Tier::kNative, parameters, "");
#define NUMLIFT_EXTERN(path, parameters) add_function(path, Tier::kExtern, parameters, "");
#define NUMLIFT_LEAVE(path, reason) add_function(path, Tier::kBreak, "", reason);
#define NUMLIFT_METHOD(name, handler, parameters) add_method(name, Tier::kNative, parameters, "");
#define NUMLIFT_METHOD_EXTERN(name, parameters) add_method(name, Tier::kExtern, parameters, "");
#define NUMLIFT_METHOD_LEAVE(name, reason) add_method(name, Tier::kBreak, "", reason);
#include "numlift/numpy_shim/functions.def"
#undef NUMLIFT_NATIVE
#undef NUMLIFT_EXTERN
#undef NUMLIFT_LEAVE
#undef NUMLIFT_METHOD
#undef NUMLIFT_METHOD_EXTERN
#undef NUMLIFT_METHOD_LEAVE
  }
};

// Holds references to functions of NumPy's modules, which live as long as the process.
const Table& table() {
  static const Table* instance = new Table;
  return *instance;
}

}  // namespace

const FunctionEntry* find_function(BorrowedRef callable) {
  const auto found = table().functions.find(callable.get());
  return found == table().functions.end() ? nullptr : &table().entries[found->second];
}

const FunctionEntry* find_method(std::string_view name) {
  const auto found = table().methods.find(std::string(name));
  return found == table().methods.end() ? nullptr : &table().entries[found->second];
}

const std::vector<FunctionEntry>& function_table() { return table().entries; }

}  // namespace numlift::numpy_shim
