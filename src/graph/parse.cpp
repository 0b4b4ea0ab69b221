// Reads the text form of graphs. Checks the grammar only: verify() checks what it means.
#include <cctype>
#include <charconv>

#include <fmt/format.h>

#include "numlift/graph/scalar.h"
#include "numlift/graph/text.h"
#include "size_expr_access.h"
#include "text_words.h"

namespace numlift {
namespace {

// Thrown inside the parser only; parse_graph turns it into its Result.
struct SyntaxError {
  std::string cause;
};

// The rest of one line.
class Cursor {
 public:
  explicit Cursor(std::string_view line) : text_(line) {}

  std::string_view rest() const { return text_; }
  void advance(size_t count) { text_.remove_prefix(count); }
  void skip_spaces() {
    while (!text_.empty() && text_.front() == ' ') text_.remove_prefix(1);
  }
  bool at_end() {
    skip_spaces();
    return text_.empty();
  }
  bool accept(std::string_view word) {
    skip_spaces();
    if (!text_.starts_with(word)) return false;
    text_.remove_prefix(word.size());
    return true;
  }
  void expect(std::string_view word) {
    if (!accept(word)) {
      throw SyntaxError{fmt::format("expected \"{}\" before \"{}\"", word, text_)};
    }
  }
  std::string_view word() {
    skip_spaces();
    size_t count = 0;
    while (count < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[count])) != 0 || text_[count] == '_')) {
      ++count;
    }
    const std::string_view part = text_.substr(0, count);
    text_.remove_prefix(count);
    return part;
  }
  template <class T>
  T number() {
    skip_spaces();
    T value{};
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc())
      throw SyntaxError{fmt::format("expected a number before \"{}\"", text_)};
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return value;
  }
  SizeExpr size() {
    auto parsed = parse_size_expr_prefix(&text_);
    if (!parsed) throw SyntaxError{fmt::format("expected a size before \"{}\"", text_)};
    return *parsed;
  }
  std::string quoted() {
    expect("\"");
    size_t end = 0;
    while (end < text_.size() && text_[end] != '"') end += text_[end] == '\\' ? 2 : 1;
    if (end >= text_.size()) throw SyntaxError{"a string has no end"};
    std::string plain = unescape(text_.substr(0, end));
    text_.remove_prefix(end + 1);
    return plain;
  }
  NodeId node() {
    expect("%");
    return NodeId{number<uint32_t>()};
  }
  SymbolId symbol() {
    expect("s");
    return SymbolId{number<uint32_t>()};
  }
  // "[a, b, c]", each item read by `read`.
  template <class Read>
  void list(std::string_view open, std::string_view close, Read read) {
    expect(open);
    if (accept(close)) return;
    do {
      read();
    } while (accept(","));
    expect(close);
  }

 private:
  std::string_view text_;
};

Type parse_type(Cursor* in) {
  if (in->accept("object")) return Type{ValueKind::kObject, DType::kFloat64, {}};
  if (in->accept("effect")) return Type{ValueKind::kEffect, DType::kFloat64, {}};
  const bool python = in->accept("py.");
  DType dtype{};
  const std::string_view word = in->word();
  if (!parse_dtype(word, &dtype)) throw SyntaxError{fmt::format("unknown dtype \"{}\"", word)};
  if (python) return py_scalar_type(dtype);
  if (in->accept("()")) return numpy_scalar_type(dtype);
  std::vector<SizeExpr> dims;
  in->list("[", "]", [&] { dims.push_back(in->size()); });
  return array_type(dtype, std::move(dims));
}

std::vector<int> parse_int_list(Cursor* in) {
  std::vector<int> numbers;
  in->list("[", "]", [&] { numbers.push_back(in->number<int>()); });
  return numbers;
}

std::vector<std::vector<CoreAxis>> parse_core(Cursor* in) {
  std::vector<std::vector<CoreAxis>> core;
  const auto parse_argument = [&] {
    core.emplace_back();
    in->list("(", ")", [&] {
      CoreAxis axis;
      axis.number = in->number<int>();
      axis.is_absent = in->accept("?");
      core.back().push_back(axis);
    });
  };
  if (in->at_end()) return core;
  do parse_argument();
  while (in->accept(","));
  in->expect("->");
  parse_argument();
  return core;
}

IndexMap parse_map(Cursor* in) {
  IndexMap map;
  in->list("[", "]", [&] {
    IndexMap::Axis axis;
    axis.start = in->size();
    if (in->accept(":")) {
      axis.step = in->size();
      in->expect("@");
      axis.axis = in->number<int>();
    }
    map.axes.push_back(std::move(axis));
  });
  return map;
}

ScalarBits parse_constant(DType dtype, Cursor* in) {
  in->skip_spaces();
  std::string_view text = in->rest();
  // A complex value is "(re, im)": the comma inside does not end it.
  const size_t end = text.starts_with('(') ? text.find(')') + 1 : text.find_first_of(",}");
  if (end == 0 || end == std::string_view::npos) throw SyntaxError{"a constant has no end"};
  const auto value = parse_scalar(dtype, text.substr(0, end));
  if (!value) throw SyntaxError{fmt::format("no {}: {}", dtype_text(dtype), text.substr(0, end))};
  in->advance(end);
  return *value;
}

void parse_attr(Cursor* in, Node* node) {
  const std::string_view key = in->word();
  in->expect("=");
  if (key == "input") {
    PlaceholderAttr attr;
    attr.input = in->number<uint32_t>();
    in->expect(",");
    in->expect("strides=");
    in->list("[", "]", [&] { attr.strides.push_back(in->size()); });
    node->attr = std::move(attr);
  } else if (key == "value" && node->op == Op::kConstant) {
    node->attr = ConstantAttr{parse_constant(node->type.dtype, in)};
  } else if (key == "value") {
    node->attr = SizeAttr{in->size()};
  } else if (key == "axis") {
    node->attr = IotaAttr{in->number<int>()};
  } else if (key == "map") {
    node->attr = ViewAttr{parse_map(in)};
  } else if (key == "part") {
    const bool imaginary = in->accept("imag");
    if (!imaginary) in->expect("real");
    node->attr = PartAttr{imaginary};
  } else if (key == "axes") {
    node->attr = ReduceAttr{parse_int_list(in)};
  } else if (key == "loop") {
    node->attr = LoopAttr{in->number<uint32_t>()};
  } else if (key == "call") {
    node->attr = ExternAttr{in->number<uint32_t>()};
  } else if (key == "path") {
    node->attr = ExternItemAttr{parse_int_list(in)};
  } else if (key == "strides" && std::holds_alternative<ExternItemAttr>(node->attr)) {
    auto& strides = std::get<ExternItemAttr>(node->attr).strides;
    in->list("[", "]", [&] { strides.push_back(in->size()); });
  } else if (key == "counter") {
    node->attr = RegionAttr{in->symbol(), std::nullopt};
  } else if (key == "trips" && std::holds_alternative<RegionAttr>(node->attr)) {
    std::get<RegionAttr>(node->attr).trips = in->size();
  } else if (key == "symbols") {
    AssignAttr attr;
    in->list("[", "]", [&] { attr.symbols.push_back(in->symbol()); });
    node->attr = std::move(attr);
  } else if (key == "order") {
    for (int axis : parse_int_list(in)) node->order.push_back(static_cast<uint8_t>(axis));
  } else if (key == "fp") {
    node->fp_checks = in->number<uint8_t>();
  } else {
    throw SyntaxError{fmt::format("unknown attribute \"{}\"", key)};
  }
}

class Parser {
 public:
  Graph graph;

  void parse_line(std::string_view line) {
    Cursor in(line);
    if (in.accept("graph ")) {
      graph.name = unescape(in.rest().substr(0, in.rest().rfind('(')));
    } else if (in.accept("symbols:")) {
      do parse_symbol(&in);
      while (in.accept(","));
      expect_end(&in);
    } else if (in.accept("loop:")) {
      NumpyLoopInfo loop;
      loop.name = in.quoted();
      loop.core = parse_core(&in);
      graph.loops.push_back(std::move(loop));
      expect_end(&in);
    } else if (in.accept("extern:")) {
      ExternInfo info;
      info.name = in.quoted();
      info.pure = in.accept("pure");
      info.may_raise = in.accept("may_raise");
      graph.externs.push_back(std::move(info));
      expect_end(&in);
    } else if (in.accept("guard:")) {
      parse_guard(&in);
      expect_end(&in);
    } else if (in.accept("return")) {
      graph.outputs = parse_node_list(&in);
      returned = true;
    } else if (in.accept("mutates")) {
      graph.mutated_inputs = parse_node_list(&in);
    } else {
      parse_node(&in);
    }
  }

  bool returned = false;

 private:
  static void expect_end(Cursor* in) {
    if (!in->at_end()) throw SyntaxError{fmt::format("unexpected \"{}\"", in->rest())};
  }

  std::vector<NodeId> parse_node_list(Cursor* in) {
    std::vector<NodeId> ids;
    if (in->at_end()) return ids;
    do {
      ids.push_back(parse_defined(in));
    } while (in->accept(","));
    expect_end(in);
    return ids;
  }

  NodeId parse_defined(Cursor* in) {
    const NodeId id = in->node();
    if (index_of(id) >= graph.size()) {
      throw SyntaxError{fmt::format("%{} is not defined above", index_of(id))};
    }
    return id;
  }

  void parse_symbol(Cursor* in) {
    in->expect("s");
    if (in->number<size_t>() != graph.symbols.size()) throw SyntaxError{"symbols are out of order"};
    in->expect("=");
    Symbol symbol;
    const std::string_view word = in->word();
    bool known = false;
    for (SymbolKind kind : {SymbolKind::kDim, SymbolKind::kStride, SymbolKind::kInt,
                            SymbolKind::kExternDim, SymbolKind::kRun}) {
      if (symbol_word(kind) != word) continue;
      symbol.kind = kind;
      known = true;
    }
    if (!known) throw SyntaxError{fmt::format("unknown symbol kind \"{}\"", word)};
    if (symbol.kind != SymbolKind::kRun) parse_symbol_place(in, &symbol);
    in->expect("~");
    symbol.hint = in->number<int64_t>();
    graph.symbols.push_back(symbol);
  }

  static void parse_symbol_place(Cursor* in, Symbol* symbol) {
    in->expect("(");
    if (symbol->kind == SymbolKind::kExternDim) {
      symbol->input = index_of(in->accept("none") ? kNoNode : in->node());
    } else {
      symbol->input = in->number<uint32_t>();
    }
    if (symbol->kind != SymbolKind::kInt) {
      in->expect(",");
      symbol->axis = in->number<uint32_t>();
    }
    in->expect(")");
  }

  void parse_guard(Cursor* in) {
    using Relation = SizeGuard::Relation;
    SizeGuard guard;
    guard.left = in->size();
    // "<=" before "<".
    bool known = false;
    for (Relation relation :
         {Relation::kEqual, Relation::kNotEqual, Relation::kLessEqual, Relation::kLess}) {
      if (!known && in->accept(relation_word(relation))) {
        guard.relation = relation;
        known = true;
      }
    }
    if (!known) throw SyntaxError{"expected a relation"};
    guard.right = in->size();
    guard.reason = in->quoted();
    graph.size_guards.push_back(std::move(guard));
  }

  void parse_node(Cursor* in) {
    const NodeId id = in->node();
    if (index_of(id) != graph.size()) {
      throw SyntaxError{fmt::format("%{} stands where %{} must", index_of(id), graph.size())};
    }
    in->expect(":");
    Node node;
    node.type = parse_type(in);
    in->expect("=");
    const std::string_view op = in->word();
    if (!parse_op(op, &node.op)) throw SyntaxError{fmt::format("unknown op \"{}\"", op)};
    in->list("(", ")", [&] { node.operands.push_back(parse_defined(in)); });
    if (in->accept("{")) {
      do parse_attr(in, &node);
      while (in->accept(","));
      in->expect("}");
    }
    if (in->accept("#")) node.location = parse_location(in);
    expect_end(in);
    graph.append(std::move(node));
  }

  // "user.py:12 in f"
  uint32_t parse_location(Cursor* in) {
    in->skip_spaces();
    const std::string_view text = in->rest();
    const size_t word = text.rfind(" in ");
    const size_t colon = word == std::string_view::npos ? word : text.rfind(':', word);
    if (colon == std::string_view::npos) throw SyntaxError{"expected <file>:<line> in <function>"};
    SourceLocation location;
    location.file = unescape(text.substr(0, colon));
    location.function = unescape(text.substr(word + 4));
    in->advance(colon + 1);
    location.line = in->number<int>();
    in->advance(in->rest().size());
    for (size_t i = 1; i < graph.locations.size(); ++i) {
      if (graph.locations[i] == location) return static_cast<uint32_t>(i);
    }
    graph.locations.push_back(std::move(location));
    return static_cast<uint32_t>(graph.locations.size() - 1);
  }
};

}  // namespace

Result<Graph, std::string> parse_graph(std::string_view text) {
  Parser parser;
  int line_number = 0;
  while (!text.empty()) {
    ++line_number;
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.find_first_not_of(' ') == std::string_view::npos) continue;
    try {
      parser.parse_line(line);
    } catch (const SyntaxError& error) {
      return Failure{fmt::format("line {}: {}", line_number, error.cause)};
    }
  }
  if (!parser.returned) return Failure{fmt::format("line {}: no return line", line_number)};
  return std::move(parser.graph);
}

}  // namespace numlift
