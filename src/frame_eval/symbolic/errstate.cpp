#include "symbolic/errstate.h"

#include "symbolic/pure.h"

namespace numlift::frame_eval {

Sym make_errstate(Interpreter& interpreter, const CallArguments& arguments) {
  if (!arguments.positional.empty()) throw_break("would_raise", "np.errstate takes keywords only");
  auto state = std::make_shared<ErrstateValue>();
  auto read = [&](const Sym& value, const std::string& name) {
    auto real = pure_constant(interpreter, value, "a setting of np.errstate");
    if (!real || !PyUnicode_CheckExact(real->get()))
      throw_break("unsupported_value", "np.errstate with such a value");
    const std::string text = utf8_text(*real);
    // Whatever is to happen on a condition, CPython does it: here it matters whether anything is.
    const bool reported = text != "ignore";
    if (reported && text != "warn" && text != "raise" && text != "print" && text != "call" &&
        text != "log") {
      throw_break("would_raise", "np.errstate with an unknown setting");
    }
    if (reported && (name == "under" || name == "all")) {
      throw_break("numpy_argument", "np.errstate that reports underflow");
    }
    return reported;
  };
  std::optional<bool> all;
  for (const auto& [keyword, value] : arguments.keywords) {
    const std::string name = utf8_text(keyword);
    if (name == "all") {
      all = read(value, name);
    } else if (name == "divide") {
      state->divide = read(value, name);
    } else if (name == "over") {
      state->over = read(value, name);
    } else if (name == "invalid") {
      state->invalid = read(value, name);
    } else if (name == "under") {
      read(value, name);
    } else {
      throw_break("numpy_argument", "np.errstate with '" + name + "'");
    }
  }
  // NumPy: `all` first, then the others.
  for (auto* setting : {&state->divide, &state->over, &state->invalid}) {
    if (!*setting) *setting = all;
  }
  return state;
}

void ErrstateValue::enter(Tracer& tracer) {
  if (entered) throw_break("would_raise", "np.errstate is entered twice");
  entered = true;
  before = tracer.fp_checks;
  auto set = [&](std::optional<bool> setting, uint8_t bit) {
    if (!setting) return;
    tracer.fp_checks =
        static_cast<uint8_t>(*setting ? tracer.fp_checks | bit : tracer.fp_checks & ~bit);
  };
  set(divide, kFpDivide);
  set(over, kFpOver);
  set(invalid, kFpInvalid);
}

void ErrstateValue::exit(Tracer& tracer) { tracer.fp_checks = before; }

}  // namespace numlift::frame_eval
