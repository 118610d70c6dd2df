import Foundation
import Strata
import Testing

/// The deepest trees there may be fit on the stacks that some systems give secondary threads, in debug builds, too.
@Suite struct DeepTreeTests {
  /// Formats of about a hundred levels, each of another kind.
  private static let texts: [String] = {
    func nested(_ count: Int, _ opening: String, _ innermost: String, _ closing: String = "") -> String {
      String(repeating: opening, count: count) + innermost + String(repeating: closing, count: count)
    }
    let members = (0..<24).reversed().reduce("$m23.medium > $limit") { inner, level in
      "SUBQUERY(\(level == 0 ? "" : "$m\(level - 1).")staff, $m\(level), \(inner)).@count > 0"
    }
    let crossed = (0..<18).reversed().reduce("$m17.medium > $limit") { inner, level in
      "SUBQUERY(\(level == 0 ? "" : "$m\(level - 1).")staff, $m\(level), \(inner) OR $m\(level).medium == medium).@count > 0"
    }
    return [
      nested(95, "NOT ", "medium == $limit"), nested(95, "-", "medium") + " == $limit",
      nested(95, "abs(", "medium", ")") + " == $limit", "medium == " + nested(90, "1 + (", "$limit", ")"),
      nested(45, "(medium == 1 OR (medium == 2 AND ", "medium == $limit", "))"),
      nested(90, "TERNARY(medium == 1, 1, ", "$limit", ")") + " == 1",
      nested(40, "TERNARY(", "medium == $limit", ", 1, 2) == 2"),
      "ANY " + nested(95, "staff.", "medium") + " == $limit",
      "ALL " + nested(95, "boss.staff.", "medium") + " == $limit",
      nested(95, "boss.", "medium") + " == $limit", nested(95, "boss.", "medium") + " == long + $limit",
      nested(90, "staff.", "@count") + " > $limit", members, crossed,
    ]
  }()

  @Test(arguments: 0..<14) func deepTreesFitOnASmallStack(number: Int) async throws {
    await #expect(processExitsWith: .success) { [number] in
      let done = DispatchSemaphore(value: 0)
      let thread = Thread {
        do {
          try Self.useTree(Self.texts[number])
        } catch {
          FileHandle.standardError.write(Data("\(error)\n".utf8))
          exit(3)
        }
        done.signal()
      }
      thread.stackSize = Sanitizer.isUsed ? 4 << 20 : 512 << 10
      thread.start()
      done.wait()
    }
  }

  private static func useTree(_ text: String) throws {
    let stand = try QueryStand()
    let changed = stand.store.context()
    guard
      let agent = try changed.fetch(
        FetchRequest<ManagedObject>(entityName: "Agent", predicate: Attribute("name") == "bob")
      ).first
    else { throw QueryStand.Missing() }
    agent.setValue(7, forKey: "medium")
    let tree = try FetchPredicate(format: text)
    var all: Set<FetchPredicate> = [tree, try FetchPredicate(format: tree.description)]
    guard all.count == 1, tree.variables == ["limit"] else { throw QueryStand.Missing() }
    let bound = try tree.withSubstitutionVariables(["limit": 2])
    all.insert(bound)
    for context in [stand.context, changed] {
      let request = FetchRequest<ManagedObject>(
        entityName: "Agent", predicate: bound, sortDescriptors: [FetchSort("name")])
      do {
        let count = try context.fetch(request).count
        guard try context.count(for: request) == count else { throw QueryStand.Missing() }
        _ = try context.explain(request, .executing).description
      } catch let error as FetchError where error.reason == .tooDeep {
        // A key path of that length, together with what is around it.
      }
    }
  }
}
