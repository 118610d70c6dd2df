import Foundation
import Testing

@testable import StrataCore

/// Errors of format strings say where they are, what the string has there and what it could have.
@Suite struct FormatErrorTests {
  private func error(_ format: String, _ arguments: Any?...) -> PredicateSyntaxError? {
    do { _ = try FetchPredicate(format: format, argumentArray: arguments) } catch {
      return error as? PredicateSyntaxError
    }
    return nil
  }

  @Test(
    "the place of the error, in characters",
    arguments: [
      ("", 0), ("a >", 3), ("a > > 3", 4), ("(a == 1", 7), ("a == 1)", 6), ("a == 'x", 5), ("a + b", 5),
      ("a == b == c", 7),
      ("x AND y == 1", 2), ("a == 1 AND", 10), ("a ? 3", 2), ("a IN {1, }", 9), ("a IN {1 2}", 8),
      ("a[FIRST] == 1", 1),
      ("a BEGINSWITH[l] 'x'", 13), ("a ==[q] 'x'", 5), ("foo:(3) == 2", 0), ("a := 3", 2),
      ("ALL (a == 3)", 4), ("NOT", 3), ("NOT a", 5),
      (#"a == '\q'"#, 6), ("a == 12x", 5), ("a == 99999999999999999999", 5), ("a..b == 1", 2),
      ("a.@median == 1", 0),
      ("é👍🏽 == 'x", 1), ("a == 1 b == 2", 7), ("SUBQUERY(a, b, c == 1).@count == 1", 12),
      ("CAST(a, 'chair') == 1", 8),
      ("a == %", 5), ("a == %%", 5), ("a == $", 6), ("AND a == 1", 0), ("TERNARY(a, b, c) == 1", 9),
      ("a == FETCH(b)", 5),
      ("add:to:(1) == 1", 0), ("a == CAST('x', 'UUID')", 10), ("a UTI-CONFORMS-TO 'b'", 2),
      ("TRUEPREDICATE == 1", 14), ("a { 1", 2),
      ("a == 1 AND TRUE", 15), ("ANYKEY == 1", 0), ("a NOT == 1", 6), ("a == 9223372036854775808", 5),
      ("(a == 1}", 7), ("a == ()", 6),
    ])
  func places(sample: (String, Int)) {
    let error = error(sample.0)
    #expect(
      error?.position == sample.1, "“\(sample.0)”: \(error.map { "\($0.position) \($0)" } ?? "no error")")
  }

  @Test func theTextShowsTheLineAndThePlace() throws {
    let found = try #require(self.error("a == 1 AND\n  b ? 3"))
    #expect(found.line == 2 && found.column == 5)
    #expect(found.description == "Line 2: Unexpected “?”: expected an operator.\n  b ? 3\n    ^")
    #expect(self.error("a > ")?.description == "Unexpected end: expected a value, a key or “(”.\na > \n    ^")
    let long = String(repeating: "a == 1 AND ", count: 100) + "?"
    let lines = try #require(self.error(long)).description.split(separator: "\n")
    #expect(lines.count == 3 && lines[1].count < 90 && lines[1].first == "…")
    #expect(lines[1].count == lines[2].count && lines[2].last == "^")
  }

  @Test func argumentsThatAreMissingOrLeftOverOrDoNotFit() {
    #expect(error("a == %@")?.reason == .missingArgument(number: 1))
    #expect(error("a == %3$@", 1, 2)?.reason == .missingArgument(number: 3))
    #expect(error("a == 1", 5)?.reason == .unusedArguments(numbers: [1]))
    #expect(error("a == '%@'", 5)?.reason == .unusedArguments(numbers: [1]))
    #expect(error("a == %2$@", 1, 2)?.reason == .unusedArguments(numbers: [1]))
    for (format, argument) in [
      ("%d == 1", "x" as Any), ("%f == 1", Date()), ("%d == 1", 1.5), ("%K == 1", 5), ("%@ == 1", ["a": 1]),
      ("%@ == 1", 1...3), ("%@ == 1", [[1]]),
      ("%s == 1", 5), ("%@ == 1", NSObject()), ("%K == 1", "a..b"),
    ] {
      let reason = error(format, argument)?.reason
      switch reason {
      case .argument, .malformed: break
      default: Issue.record("\(format) with \(argument): \(String(describing: reason))")
      }
    }
    #expect(error("%d == 1", nil)?.message == "Argument 1 does not fit: a whole number is needed.")
  }

  @Test func depthAndLengthAreLimited() throws {
    func nots(_ count: Int) -> String { String(repeating: "NOT ", count: count) + "a == 1" }
    #expect(error(nots(90)) == nil)
    #expect(error(nots(100))?.reason == .tooDeep)
    #expect(error(Array(repeating: "a", count: 600).joined(separator: "+") + " == 1")?.reason == .tooDeep)
    #expect(
      error(String(repeating: "abs(", count: 600) + "a" + String(repeating: ")", count: 600) + " == 1")?
        .reason == .tooDeep)
    // Parentheses alone and long lists are no depth.
    #expect(
      error(String(repeating: "(", count: 5_000) + "a == 1" + String(repeating: ")", count: 5_000)) == nil)
    #expect(error(Array(repeating: "a == 1", count: 5_000).joined(separator: " OR ")) == nil)
    #expect(error(String(repeating: " ", count: 1_000_001))?.reason == .tooLong)
    // Each [LAST] asks for its collection twice.
    func last(_ levels: Int) -> PredicateSyntaxError.Reason? {
      do {
        _ = try FetchPredicate(memoryFormat: "a" + String(repeating: "[LAST]", count: levels) + " == 1", [])
        return nil
      } catch { return (error as? PredicateSyntaxError)?.reason }
    }
    #expect((1...4).allSatisfy { last($0) == nil } && last(8) == .tooDeep)
  }

  /// The deepest trees there can be, and texts of openings only, on the small stack of a secondary thread.
  @Test func deepTextsFitOnASmallStack() async throws {
    await #expect(processExitsWith: .success) {
      let done = DispatchSemaphore(value: 0)
      let thread = Thread {
        for opening in [
          "(", "NOT ", "-", "{", "abs(", "SUBQUERY(", "a.", "a+", "TERNARY(", "ANY ", "a == 1 AND (", "[",
          "'", "#", "%",
        ] {
          for count in [10, 450, 5_000] {
            let text = String(repeating: opening, count: count)
            for tail in ["", "a", "a == 1"] {
              _ = try? FetchPredicate(format: text + tail)
            }
          }
        }
        done.signal()
      }
      thread.stackSize = 512 << 10
      thread.start()
      done.wait()
    }
  }
}
