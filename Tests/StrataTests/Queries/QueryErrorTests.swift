import Foundation
import Strata
import Testing

/// What cannot be asked is refused with a reason, before any row is looked at.
@Suite struct QueryErrorTests {
  private let stand: QueryStand

  init() throws { stand = try QueryStand() }

  private func reason(_ predicate: FetchPredicate, _ sorts: [FetchSort] = []) -> FetchError.Reason? {
    do {
      _ = try stand.context.fetch(
        FetchRequest<ManagedObject>(entityName: "Agent", predicate: predicate, sortDescriptors: sorts))
      return nil
    } catch {
      return (error as? FetchError)?.reason
    }
  }

  @Test func namesInKeyPaths() {
    #expect(reason(.comparison(key: "base.nothing", .equal, 1)) == .unknownKey)
    #expect(reason(.comparison(key: "nothing.code", .equal, 1)) == .unknownKey)
    #expect(reason(.comparison(key: "name.code", .equal, 1)) == .notARelationship)
    #expect(reason(.comparison(key: "base", .equal, 1)) == .relationshipKey)
    #expect(reason(.comparison(key: "base", .beginsWith, "x")) == .relationshipKey)
    // Known to the subentity only.
    #expect(reason(.comparison(key: "boss.hours", .equal, 1)) == .unknownKey)
    #expect(reason(.everything, [FetchSort("visits.score")]) == .toManyKey)
    #expect(reason(.everything, [FetchSort("base.nothing")]) == .unknownKey)
  }

  @Test func manyValuesWhereOneIsNeeded() {
    #expect(reason(.comparison(key: "visits.score", .equal, 1)) == .toManyKey)
    #expect(reason(.compare(.key("medium"), .equal, .key("visits.score"))) == .toManyKey)
    if case .notMany? = reason(.compare(.key("base.code"), .equal, .constant("x"), .all)) {
    } else {
      Issue.record("ALL of one value")
    }
    // ANY of one value is that value, also where the comparison is negated.
    #expect(reason(.any("base.code", .equal, "x")) == nil)
    #expect(reason(.not(.compare(.key("base.code"), .equal, .constant("x"), .all))) == nil)
    if case .notMany? = reason(.compare(.aggregate(.sum, .constant(3)), .equal, .constant(1))) {
    } else {
      Issue.record("the sum of one value")
    }
  }

  @Test func kindsThatDoNotFit() {
    if case .wrongType? = reason(.comparison(key: "base.code", .equal, .uuid(UUID()))) {
    } else {
      Issue.record("code == a UUID")
    }
    if case .wrongType? = reason(.comparison(key: "base.code", .contains, 1)) {
    } else {
      Issue.record("code CONTAINS 1")
    }
    if case .mismatch? = reason(.compare(.key("name"), .equal, .key("medium"))) {
    } else {
      Issue.record("name == medium")
    }
    if case .mismatch? = reason(.compare(.key("base"), .equal, .key("medium"))) {
    } else {
      Issue.record("base == medium")
    }
    // Primary keys of different hierarchies may be the same.
    if case .mismatch? = reason(.compare(.key("base"), .equal, .key("boss"))) {
    } else {
      Issue.record("base == boss")
    }
    if case .mismatch? = reason(.compare(.key("base"), .in, .key("visits"))) {
    } else {
      Issue.record("base IN visits")
    }
    if case .wrongArgument? = reason(
      .compare(.function(.add, [.key("name"), .constant(1)]), .equal, .constant(1)))
    {
    } else {
      Issue.record("name + 1")
    }
    if case .wrongArgument? = reason(.compare(.aggregate(.sum, .key("staff.name")), .equal, .constant(1))) {
    } else {
      Issue.record("the sum of names")
    }
    if case .notAString? = reason(.comparison(key: "medium", .like, "1*")) {
    } else {
      Issue.record("medium LIKE")
    }
  }

  @Test func variablesWithoutValues() {
    #expect(reason(.compare(.key("name"), .equal, .variable("x"))) == .unboundVariable("x"))
  }

  @Test func patternsThatAreNone() {
    #expect(throws: TextMatchError.self) {
      try stand.agents(.comparison(key: "base.code", .matches, "("))
    }
  }

  @Test func nestingIsLimited() throws {
    func nested(_ depth: Int) -> FetchPredicate {
      let deep = (0..<depth).reduce(FetchExpression.key("medium")) { inner, _ in .function(.negate, [inner]) }
      return .compare(deep, .equal, .constant(1))
    }
    #expect(try stand.agents(nested(90)) == ["ann"])
    #expect(reason(nested(110)) == .tooDeep)
    // Every relationship of a key path is a level.
    func chain(_ length: Int) -> String { Array(repeating: "staff", count: length).joined(separator: ".") }
    #expect(try stand.agents(.any(chain(90) + ".medium", .equal, 1)) == [])
    #expect(reason(.any(chain(110) + ".medium", .equal, 1)) == .tooDeep)
    #expect(reason(.compare(.key(chain(110) + ".medium"), .equal, .key("medium"), .any)) == .tooDeep)
    let members = (0..<110).reduce(FetchPredicate.everything) { inner, _ in
      .compare(.aggregate(.count, .subquery(.key("staff"), variable: "s", inner)), .greater, .constant(0))
    }
    #expect(reason(members) == .tooDeep)
  }

  @Test func errorsSayWhatToDo() throws {
    let message = "\(try #require(failure(.comparison(key: "visits.score", .equal, 1))))"
    #expect(message.contains("Agent.visits.score") && message.contains("ANY"))
  }

  private func failure(_ predicate: FetchPredicate) -> FetchError? {
    do {
      _ = try stand.agents(predicate)
      return nil
    } catch { return error as? FetchError }
  }
}
