#include "symbolic/side_effects.h"

#include "symbolic/pure.h"

namespace numlift::frame_eval {

void store_outside_attribute(Interpreter&, const Sym& owner, BorrowedRef name, const Sym&) {
  throw_break("attribute_set",
              fmt::format("attribute '{}' of a {} is set", utf8_text(name), type_name(owner)));
}

void store_global(Interpreter&, BorrowedRef name) {
  throw_break("global_set", fmt::format("the global '{}' is set", utf8_text(name)));
}

void store_outside_cell(Interpreter&, BorrowedRef name) {
  throw_break("variable_set", fmt::format("the variable '{}' of an enclosing function is set",
                                          name ? utf8_text(name) : "?"));
}

void change_outside_container(Interpreter&, const Sym& container, const std::string& what) {
  throw_break("side_effect",
              fmt::format("a {} from outside is changed by {}", type_name(container), what));
}

void let_go(const Sym& value) {
  if (!value || value->kind != SymKind::kObject || !value->source) return;
  const PyTypeObject* type = object_of(value).type();
  if (type->tp_finalize != nullptr || type->tp_del != nullptr) {
    throw_break("finalizer", fmt::format("a {} is let go of", type->tp_name));
  }
}

}  // namespace numlift::frame_eval
