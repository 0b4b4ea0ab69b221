#include "symbolic/value_parts.h"

#include "symbolic/exceptions.h"
#include "symbolic/made_classes.h"
#include "symbolic/grown_list.h"

namespace numlift::frame_eval {

bool visit_parts(const SymbolicValue& value, const std::function<void(const Sym&)>& visit) {
  const auto visit_all = [&](const auto& values) {
    for (const Sym& one : values) visit(one);
  };
  switch (value.kind) {
    case SymKind::kTuple:
    case SymKind::kList:
      visit_all(static_cast<const SequenceValue&>(value).items);
      return true;
    case SymKind::kDict:
      for (const auto& [key, item] : static_cast<const DictValue&>(value).items) {
        visit(key);
        visit(item);
      }
      return true;
    case SymKind::kSlice: {
      const auto& slice = static_cast<const SliceValue&>(value);
      visit_all(std::vector<Sym>{slice.start, slice.stop, slice.step});
      return true;
    }
    case SymKind::kFunction: {
      const auto& function = static_cast<const FunctionValue&>(value);
      visit_all(std::vector<Sym>(function.closure.begin(), function.closure.end()));
      visit_all(function.defaults);
      for (const auto& [name, item] : function.kwdefaults) visit(item);
      for (const auto& [name, item] : function.texts) visit(item);
      for (const Sym& part : {function.annotations, function.type_parameters, Sym(function.dict)}) {
        if (part) visit(part);
      }
      return true;
    }
    case SymKind::kMethod: {
      const auto& method = static_cast<const MethodValue&>(value);
      visit(method.self);
      if (method.function) visit(method.function);
      return true;
    }
    case SymKind::kCell:
      if (const Sym& content = static_cast<const CellValue&>(value).content) visit(content);
      return true;
    case SymKind::kObject: {
      // What was put into an object from outside is in the effects.
      const auto& object = static_cast<const ObjectValue&>(value);
      if (const auto* made = dynamic_cast<const MadeClass*>(&value)) {
        for (const Sym& part : {made->bases, Sym(made->names)}) visit(part);
      }
      if (!object.is_new || !object.state) return true;
      if (object.state->content) visit(object.state->content);
      for (const auto& [name, content] : object.state->attributes) {
        if (content) visit(content);
      }
      return true;
    }
    case SymKind::kIterator: {
      const auto shape = static_cast<const IteratorValue&>(value).shape();
      if (!shape) return false;
      visit_all(shape->arguments);
      return true;
    }
    case SymKind::kException: {
      const auto& exception = static_cast<const ExceptionValue&>(value);
      visit(exception.args);
      for (const Sym& link : {exception.cause, exception.context}) {
        if (link) visit(link);
      }
      for (const auto& [name, item] : exception.attributes) visit(item);
      for (const auto& [name, item] : exception.members) visit(item);
      for (const auto& locals : exception.locals) {
        for (const Sym& local : locals) {
          if (local) visit(local);
        }
      }
      return true;
    }
    case SymKind::kGrownList:
      visit_all(static_cast<const GrownList&>(value).known);
      return true;
    case SymKind::kNull:
    case SymKind::kSet:  // of constants
    case SymKind::kArray:
    case SymKind::kScalar:
    case SymKind::kSize:
      return true;
  }
  NUMLIFT_UNREACHABLE();
}

void Reached::add(const Sym& value) {
  std::vector<const SymbolicValue*> pending;
  const std::function<void(const Sym&)> reach = [&](const Sym& part) {
    if (values_.insert(part.get()).second) pending.push_back(part.get());
  };
  // The parts of an iterator's shape may be made for the occasion: they are looked at at once.
  const std::function<void(const SymbolicValue&)> look = [&](const SymbolicValue& one) {
    if (one.kind == SymKind::kIterator) {
      holds_anything_ |= !visit_parts(one, [&](const Sym& part) {
        if (values_.insert(part.get()).second) look(*part);
      });
    } else {
      holds_anything_ |= !visit_parts(one, reach);
    }
  };
  reach(value);
  while (!pending.empty()) {
    const SymbolicValue* one = pending.back();
    pending.pop_back();
    look(*one);
  }
}

}  // namespace numlift::frame_eval
