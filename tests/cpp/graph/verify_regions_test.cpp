// What the verifier says of control flow.
#include <gtest/gtest.h>

#include "numlift/graph/text.h"

namespace numlift {
namespace {

constexpr std::string_view kHeader =
    "symbols: s0 = dim(0, 0) ~8, s1 = run ~0, s2 = run ~0, s3 = int(2) ~1\n"
    "%0: f64[s0] = placeholder() {input=0, strides=[8]}\n"
    "%1: py.f64 = placeholder() {input=1, strides=[]}\n"
    "%2: b8() = less(%1, %1)\n"
    "%3: py.i64 = constant() {value=1}\n";

// What verify() says of the header and these lines.
std::string verdict(const std::string& lines) {
  const auto graph = parse_graph(std::string(kHeader) + lines);
  return graph ? verify(*graph) : "parse error: " + graph.error();
}

TEST(VerifyRegions, ANodeIsUsedInItsArmOnly) {
  EXPECT_EQ(verdict("%4: effect = loop() {counter=s1, trips=s0}\n%5: f64[s0] = negative(%0)\n"
                    "%6: effect = end(%4)\n%7: f64[s0] = negative(%5)\nreturn %7"),
            "%7 (negative): operand %5 belongs to a region that is closed");
  EXPECT_EQ(verdict("%4: effect = if(%2)\n%5: f64[s0] = negative(%0)\n%6: effect = else(%4)\n"
                    "%7: f64[s0] = negative(%5)\n%8: effect = end(%4)\nreturn"),
            "%7 (negative): operand %5 belongs to a region that is closed");
  EXPECT_EQ(verdict("%4: effect = block()\n%5: f64[s0] = negative(%0)\n%6: effect = end(%4)\n"
                    "return %5"),
            "output %5 belongs to a closed region");
  EXPECT_EQ(verdict("%4: effect = block()\n%5: f64[s0] = negative(%0)\n%6: effect = if(%2)\n"
                    "%7: f64[s0] = negative(%5)\n%8: effect = end(%6)\n"
                    "%9: f64[s0] = negative(%5)\n%10: effect = end(%4)\nreturn"),
            "");
}

TEST(VerifyRegions, EveryBeginHasItsEnd) {
  EXPECT_EQ(verdict("%4: effect = loop() {counter=s1}\nreturn"), "%4 (loop) has no end");
  EXPECT_EQ(verdict("%4: effect = if(%2)\n%5: effect = else(%4)\nreturn"), "%4 (if) has no end");
  EXPECT_EQ(verdict("%4: effect = block()\n%5: effect = if(%2)\n%6: effect = end(%4)\n"
                    "%7: effect = end(%5)\nreturn"),
            "%6 (end): it does not close the innermost open region");
  EXPECT_EQ(verdict("%4: effect = end(%0)\nreturn"),
            "%4 (end): it does not close the innermost open region");
  EXPECT_EQ(verdict("%4: effect = block()\n%5: effect = end(%4)\n%6: effect = end(%4)\nreturn"),
            "%6 (end): it does not close the innermost open region");
  EXPECT_EQ(verdict("%4: effect = end()\nreturn"), "%4 (end): it names no region");
}

TEST(VerifyRegions, AnElseBelongsToTheInnermostIf) {
  const std::string wrong = "(else): the innermost open region is not its if";
  EXPECT_EQ(verdict("%4: effect = block()\n%5: effect = else(%4)\n%6: effect = end(%4)\nreturn"),
            "%5 " + wrong);
  EXPECT_EQ(verdict("%4: effect = if(%2)\n%5: effect = block()\n%6: effect = else(%4)\n"
                    "%7: effect = end(%5)\n%8: effect = end(%4)\nreturn"),
            "%6 " + wrong);
  EXPECT_EQ(verdict("%4: effect = if(%2)\n%5: effect = else(%4)\n%6: effect = else(%4)\n"
                    "%7: effect = end(%4)\nreturn"),
            "%6 " + wrong);
  EXPECT_EQ(verdict("%4: effect = else()\nreturn"), "%4 (else): it names no region");
}

TEST(VerifyRegions, BreaksLeaveAnOpenLoopOrBlock) {
  const std::string wrong = "it leaves no open loop or block";
  EXPECT_EQ(verdict("%4: effect = loop() {counter=s1}\n%5: effect = end(%4)\n"
                    "%6: effect = break(%4)\nreturn"),
            "%6 (break): " + wrong);
  EXPECT_EQ(verdict("%4: effect = if(%2)\n%5: effect = break(%4)\n%6: effect = end(%4)\nreturn"),
            "%5 (break): " + wrong);
  EXPECT_EQ(verdict("%4: effect = break(%0)\nreturn"), "%4 (break): " + wrong);
  EXPECT_EQ(verdict("%4: effect = continue(%0)\nreturn"), "%4 (continue): " + wrong);
  EXPECT_EQ(verdict("%4: effect = block()\n%5: effect = continue(%4)\n%6: effect = end(%4)\n"
                    "return"),
            "%5 (continue): a block has no next iteration");
}

TEST(VerifyRegions, OperandsOfControlFlow) {
  EXPECT_EQ(verdict("%4: effect = if(%1)\n%5: effect = end(%4)\nreturn"),
            "%4 (if): operand 0 is py.f64, not b8 of rank 0");
  EXPECT_EQ(verdict("%4: b8[s0] = less(%0, %1)\n%5: effect = check(%4)\nreturn"),
            "%5 (check): operand 0 is b8[s0], not b8 of rank 0");
  EXPECT_EQ(verdict("%4: effect = assign(%1) {symbols=[s1]}\nreturn"),
            "%4 (assign): operand 0 is py.f64, not i64 of rank 0");
  EXPECT_EQ(verdict("%4: effect = assign(%3) {symbols=[s1, s2]}\nreturn"),
            "%4 (assign): as many symbols as operands are needed");
  EXPECT_EQ(verdict("%4: effect = block()\n%5: effect = if(%4)\n%6: effect = end(%5)\n"
                    "%7: effect = end(%4)\nreturn"),
            "%5 (if): operand 0 is effect, not b8 of rank 0");
  EXPECT_EQ(verdict("%4: effect = block()\n%5: object = extern(%4) {call=0}\n"
                    "%6: effect = end(%4)\nreturn"),
            "%5 (extern): it reads control flow");
  EXPECT_EQ(verdict("%4: b8() = check(%2)\nreturn"), "%4 (check): it has a value");
  EXPECT_EQ(verdict("%4: effect = loop()\n%5: effect = end(%4)\nreturn"),
            "%4 (loop): attribute of another op");
}

TEST(VerifyRegions, OnlyRunSymbolsAreSet) {
  const std::string wrong = "s0 is no symbol that a program sets";
  EXPECT_EQ(verdict("%4: effect = assign(%3) {symbols=[s0]}\nreturn"), "%4 (assign): " + wrong);
  EXPECT_EQ(verdict("%4: effect = loop() {counter=s0}\n%5: effect = end(%4)\nreturn"),
            "%4 (loop): " + wrong);
  EXPECT_EQ(verdict("%4: effect = assign(%3) {symbols=[s9]}\nreturn"),
            "%4 (assign): s9 is no symbol that a program sets");
}

TEST(VerifyRegions, RunSymbolsAreSetBeforeTheyAreRead) {
  const std::string wrong = "s1 is read before the program sets it";
  EXPECT_EQ(verdict("%4: py.i64 = size_value() {value=s1}\nreturn"), "%4 (size_value): " + wrong);
  EXPECT_EQ(verdict("%4: effect = loop() {counter=s1, trips=s1 + 1}\n%5: effect = end(%4)\nreturn"),
            "%4 (loop): " + wrong);
  EXPECT_EQ(verdict("guard: s1 < s0 \"why\"\nreturn"), "guard \"why\": " + wrong);
  EXPECT_EQ(verdict("%4: effect = assign(%3) {symbols=[s1]}\n"
                    "%5: py.i64 = size_value() {value=s1}\nreturn %5"),
            "");
}

TEST(VerifyRegions, ASymbolKeepsItsValueWhileWhatIsMadeWithItIsUsed) {
  const std::string set =
      "%4: effect = assign(%3) {symbols=[s1]}\n"
      "%5: py.i64 = size_value() {value=s1}\n"
      "%6: py.f64 = cast(%5)\n";
  const auto since = [](const std::string& user, const std::string& operand) {
    return user + ": operand " + operand + " was made with s1, which was set since";
  };
  EXPECT_EQ(verdict(set + "%7: effect = assign(%5) {symbols=[s1]}\n%8: py.f64 = negative(%6)\n"
                          "return"),
            since("%8 (negative)", "%6"));
  EXPECT_EQ(verdict(set + "%7: effect = assign(%5) {symbols=[s1]}\nreturn %5"),
            "output %5 was made with s1, which was set since");
  // By a view, or a size; through memory it is another value.
  EXPECT_EQ(verdict(set + "%7: f64[] = view(%0) {map=[s1]}\n"
                          "%8: effect = assign(%5) {symbols=[s1]}\n"
                          "%9: f64[s0] = store(%0, %7)\nreturn\nmutates %9"),
            since("%9 (store)", "%7"));
  EXPECT_EQ(verdict(set + "%7: f64[s1] = empty()\n%8: effect = assign(%5) {symbols=[s1]}\n"
                          "return %7"),
            "output %7 was made with s1, which was set since");
  EXPECT_EQ(verdict(set + "%7: f64[s0] = store(%0, %6)\n%8: effect = assign(%5) {symbols=[s1]}\n"
                          "%9: f64[s0] = negative(%7)\nreturn %9\nmutates %7"),
            "");
  // In an iteration before, in an arm, on the way out of a block.
  EXPECT_EQ(verdict(set + "%7: effect = loop() {counter=s2}\n%8: py.f64 = negative(%6)\n"
                          "%9: effect = assign(%3) {symbols=[s1]}\n%10: effect = end(%7)\nreturn"),
            since("%8 (negative)", "%6"));
  EXPECT_EQ(verdict(set + "%7: effect = if(%2)\n%8: effect = assign(%3) {symbols=[s1]}\n"
                          "%9: effect = end(%7)\n%10: py.f64 = negative(%6)\nreturn"),
            since("%10 (negative)", "%6"));
  EXPECT_EQ(verdict(set + "%7: effect = block()\n%8: effect = if(%2)\n"
                          "%9: effect = assign(%3) {symbols=[s1]}\n%10: effect = break(%7)\n"
                          "%11: effect = end(%8)\n%12: py.f64 = negative(%6)\n"
                          "%13: effect = end(%7)\n%14: py.f64 = square(%6)\nreturn"),
            since("%14 (square)", "%6"));
  // Not on the other path.
  EXPECT_EQ(verdict(set + "%7: effect = if(%2)\n%8: effect = assign(%3) {symbols=[s1]}\n"
                          "%9: effect = else(%7)\n%10: py.f64 = negative(%6)\n"
                          "%11: effect = end(%7)\nreturn"),
            "");
  EXPECT_EQ(verdict("%4: effect = loop() {counter=s2}\n%5: py.i64 = size_value() {value=s2}\n"
                    "%6: effect = if(%2)\n%7: effect = assign(%3) {symbols=[s2]}\n"
                    "%8: effect = continue(%4)\n%9: effect = end(%6)\n"
                    "%10: py.i64 = negative(%5)\n%11: effect = end(%4)\nreturn"),
            "");
}

TEST(VerifyRegions, WherePathsMeetABufferIsMerged) {
  const auto met = [](const std::string& version) {
    return "it reads version " + version + ", but paths that stored to it have met since";
  };
  // The begin of a loop that stores to it.
  EXPECT_EQ(verdict("%4: effect = loop() {counter=s1, trips=s0}\n%5: f64[s0] = negative(%0)\n"
                    "%6: f64[s0] = store(%0, %5)\n%7: effect = end(%4)\nreturn"),
            "%5 (negative): " + met("%0"));
  // The other arm.
  EXPECT_EQ(verdict("%4: effect = if(%2)\n%5: f64[s0] = store(%0, %1)\n%6: effect = else(%4)\n"
                    "%7: f64[s0] = negative(%0)\n%8: effect = end(%4)\nreturn"),
            "%7 (negative): " + met("%0"));
  // The end of an if, a block, a loop.
  EXPECT_EQ(verdict("%4: effect = if(%2)\n%5: f64[s0] = store(%0, %1)\n%6: effect = end(%4)\n"
                    "%7: f64[s0] = negative(%0)\nreturn"),
            "%7 (negative): " + met("%0"));
  EXPECT_EQ(verdict("%4: effect = block()\n%5: f64[s0] = store(%0, %1)\n%6: effect = end(%4)\n"
                    "return %0"),
            "output %0: " + met("%0"));
  EXPECT_EQ(verdict("%4: effect = loop() {counter=s1}\n%5: f64[s0] = merge(%0)\n"
                    "%6: f64[s0] = store(%5, %1)\n%7: effect = end(%4)\nreturn\nmutates %6"),
            "mutated %6 is not the last version of an input");
  // What was born inside is nobody's business outside.
  EXPECT_EQ(verdict("%4: effect = block()\n%5: f64[s0] = empty()\n%6: f64[s0] = store(%5, %1)\n"
                    "%7: f64[s0] = negative(%6)\n%8: effect = end(%4)\nreturn %0"),
            "");
}

TEST(VerifyRegions, MergesAreVersionsOfABuffer) {
  EXPECT_EQ(verdict("%4: f64[s0] = view(%0) {map=[0:1@0]}\n%5: f64[s0] = merge(%4)\nreturn"),
            "%5 (merge): its operand is a view");
  EXPECT_EQ(verdict("%4: f32[s0] = merge(%0)\nreturn"),
            "%4 (merge): its type differs from its buffer's");
  EXPECT_EQ(verdict("%4: f64() = constant() {value=1}\n%5: f64[] = merge(%4)\nreturn"),
            "%5 (merge): its target's buffer %4 is no memory");
}

}  // namespace
}  // namespace numlift
