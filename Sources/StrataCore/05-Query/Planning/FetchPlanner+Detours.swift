import Foundation

// Ways to the rows that do not lead through one index of theirs: through other rows, or through several indexes.

extension FetchPlanner {
  /// Such a way.
  struct Detour {
    let access: FetchPlan.Access
    /// The place of the conjunct it stands for; `isExact` when it stands for all of it.
    let conjunct: Int
    let isExact: Bool
    let words: String
    let indexNames: [String]
    let score: Int
  }

  /// The most parts of a disjunction that are looked up one by one.
  static let maximumParts = 64
}

extension FetchPlanner.Context {
  /// The best detour, if it is better than an index with that score.
  func detour(betterThan score: Int) -> FetchPlanner.Detour? {
    if depth >= FetchPlanner.maximumDepth { return nil }
    var best: FetchPlanner.Detour?
    for (place, conjunct) in conjuncts.enumerated() {
      let found: FetchPlanner.Detour?
      switch conjunct {
      case .reference(let test): found = reference(test, place)
      case .related(let number, _, let part) where part.reach <= 0:
        found = related(request.schema.relationships[number], part, place)
      case .or(let parts): found = union(parts, place)
      default: continue
      }
      if let found, found.score > max(score, best?.score ?? 0) { best = found }
    }
    return best
  }

  func plan(_ detour: FetchPlanner.Detour) -> FetchPlan {
    let isFiltered = filters(hierarchy.memberNumbers)
    let consumed: Set<Int> = detour.isExact ? [detour.conjunct] : []
    var plan = finish(
      detour.access, isOrdered: isInKeyOrder, consumed: consumed, filtersEntities: isFiltered,
      words: detour.words)
    plan.indexNames = detour.indexNames
    plan.alternative = FetchPlan.Alternative(scanPlan())
    return plan
  }

  /// Rows that refer to objects we know.
  private func reference(_ test: ReferenceTest, _ place: Int) -> FetchPlanner.Detour? {
    guard let relationship = request.entity.relationship(slot: test.slot) else { return nil }
    let keys = IdentifierKeys.of(
      test.identifiers, rootName: test.rootName, storeIdentifier: facts.storeIdentifier)
    return FetchPlanner.Detour(
      access: keys.isEmpty ? .nothing : .related(RelatedAccess(relationship: relationship, keys: keys)),
      conjunct: place, isExact: true, words: "members of \(keys.count) objects by \(test.name)",
      indexNames: [], score: 9)
  }

  /// Rows whose other end satisfies a predicate: worth it when few rows there do, and an index knows them.
  private func related(_ relationship: RelationshipSchema, _ part: ResolvedPredicate, _ place: Int)
    -> FetchPlanner.Detour?
  {
    let schema = request.schema
    var inner = ResolvedFetchRequest(
      schema: schema, entity: schema.entities[relationship.destination], predicate: part)
    inner.monitor = request.monitor
    let plan = FetchPlanner.plan(inner, mode: .rows, depth: depth + 1, facts)
    let score: Int
    switch plan.access {
    case .nothing, .identifiers: score = 9
    case .index(_, let ranges, _): score = ranges.allSatisfy(\.isPoint) ? 8 : relationship.isToMany ? 0 : 2
    case .related, .union: score = 6
    case .scan:
      let (others, own) = (
        facts.rowCount(relationship.destinationHierarchy), facts.rowCount(request.hierarchyNumber)
      )
      score = others > 0 && others * 4 <= own ? 1 : 0
    }
    if score == 0 { return nil }
    return FetchPlanner.Detour(
      access: plan.access == .nothing
        ? .nothing : .related(RelatedAccess(relationship: relationship, request: inner, plan: plan)),
      conjunct: place, isExact: true, words: "by \(relationship.name) of (\(plan.description))",
      indexNames: plan.indexNames, score: score)
  }

  /// Rows that satisfy one of several predicates, each of which an index knows.
  private func union(_ parts: [ResolvedPredicate], _ place: Int) -> FetchPlanner.Detour? {
    guard parts.count <= FetchPlanner.maximumParts else { return nil }
    var accesses: [FetchPlan.Access] = []
    var words: [String] = []
    var names: [String] = []
    var isExact = true
    var score = 5
    for part in parts {
      let plan = FetchPlanner.plan(
        request.candidates(part, keepsSorts: false), mode: .identifiers, depth: depth + 1, facts)
      switch plan.access {
      case .scan: return nil
      case .nothing: break
      case .related(let related) where related.targets?.plan.plan.access == .scan: score = 1
      default: break
      }
      if plan.residual != nil { isExact = false }
      accesses.append(plan.access)
      words.append("(\(plan.description))")
      names += plan.indexNames.filter { !names.contains($0) }
    }
    return FetchPlanner.Detour(
      access: .union(accesses), conjunct: place, isExact: isExact,
      words: "either " + words.joined(separator: " or "), indexNames: names, score: score)
  }
}

extension KeyRange {
  /// Whether the range is that of one value, or of a few neighbours in the order of bytes.
  var isPoint: Bool { KeyRange.successor(lower) == upper }
}

extension String {
  func replacingFirst(_ part: String, by other: String) -> String {
    guard let range = range(of: part) else { return self }
    return replacingCharacters(in: range, with: other)
  }
}
