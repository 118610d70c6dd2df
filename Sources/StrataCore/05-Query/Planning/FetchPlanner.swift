import Foundation

/// Decides how a fetch is executed. Pure: the same request, mode and set of indexes give the same plan.
enum FetchPlanner {
  /// More ranges than this are not worth their seeks: a longer product of `IN` lists is left to the residual.
  static let maximumRangeCount = 4096

  /// - Parameters:
  ///   - storeIdentifier: The store whose rows are read; decides which identifiers of `SELF IN` matter.
  ///   - isUsable: Whether an index of the schema is complete in the store.
  ///   - rowCount: How many rows a hierarchy has; 0 when it is unknown.
  ///   - addedIndexes: The indexes that cover an entity besides those of the schema, by the entity's number.
  ///   - entityCodes: The store's codes of entities, by number; empty when they are unknown. Then no index is asked for what a relationship leads to.
  static func plan(
    _ request: ResolvedFetchRequest, mode: FetchMode = .rows, storeIdentifier: UUID,
    isUsable: (IndexSchema) -> Bool = { _ in true }, rowCount: (_ hierarchy: Int) -> Int = { _ in 0 },
    addedIndexes: @escaping (_ entity: Int) -> [IndexSchema] = { _ in [] }, entityCodes: [UInt16] = []
  ) -> FetchPlan {
    withoutActuallyEscaping(rowCount) { rowCount in
      withoutActuallyEscaping(isUsable) { isUsable in
        plan(
          request, mode: mode, depth: 0,
          StoreFacts(
            storeIdentifier: storeIdentifier, rowCount: rowCount, addedIndexes: addedIndexes,
            isUsable: isUsable, entityCodes: entityCodes))
      }
    }
  }

  /// What is known of a store.
  struct StoreFacts {
    let storeIdentifier: UUID
    let rowCount: (_ hierarchy: Int) -> Int
    let addedIndexes: (_ entity: Int) -> [IndexSchema]
    let isUsable: (IndexSchema) -> Bool
    let entityCodes: [UInt16]
  }

  /// Ways that lead through more relationships and alternatives than this are not looked for.
  static let maximumDepth = 6

  static func plan(
    _ request: ResolvedFetchRequest, mode: FetchMode, depth: Int, _ facts: StoreFacts
  ) -> FetchPlan {
    if request.predicate == .none {
      return FetchPlan(
        access: .nothing, isOrdered: true, residual: nil, filtersEntities: false, description: "nothing")
    }
    let conjuncts = request.predicate.conjuncts
    let sorts = mode == .count ? [] : effectiveSorts(request.sorts, conjuncts: conjuncts)
    let context = Context(
      request: request, mode: mode, facts: facts, depth: depth, conjuncts: conjuncts, sorts: sorts,
      ordersByKey: mode != .count && (!request.sorts.isEmpty || request.isPaged || request.sortsByKey),
      keysDescend: mode != .count && request.keysDescend)
    if let plan = context.identifierPlan() { return plan }
    let indexes = (request.entity.indexes + facts.addedIndexes(request.entity.number)).filter(facts.isUsable)
    let choices = indexes.compactMap { context.choice(of: $0) }
    let best = choices.max { ($0.score, $1.index.name) < ($1.score, $0.index.name) }
    if let detour = context.detour(betterThan: best?.score ?? 0) { return context.plan(detour) }
    if let best, best.score > 0 { return context.plan(best) }
    // Nothing narrows the candidates down: perhaps they come in the right order.
    if let walk = best { return context.trialPlan(walk) }
    return context.scanPlan()
  }

  /// The sort keys that are not the same for all matches anyway.
  private static func effectiveSorts(
    _ sorts: [ResolvedSort], conjuncts: [ResolvedPredicate]
  ) -> [ResolvedSort] {
    var fixed = SlotBitmap()
    for case .test(let test) in conjuncts where test.operation == .equal || test.operation == .isNil {
      fixed.insert(test.slot)
    }
    var result: [ResolvedSort] = []
    for sort in sorts where !sort.steps.isEmpty || !fixed.contains(sort.slot) {
      if sort.steps.isEmpty { fixed.insert(sort.slot) }
      result.append(sort)
    }
    return result
  }
}

extension FetchPlanner {
  /// What a plan is made from.
  struct Context {
    let request: ResolvedFetchRequest
    let mode: FetchMode
    let facts: StoreFacts
    let depth: Int
    let conjuncts: [ResolvedPredicate]
    let sorts: [ResolvedSort]
    /// Whether matches that no sort key tells apart must come in the order of primary keys.
    let ordersByKey: Bool
    /// Whether that order is the descending one, which no way to the rows has.
    let keysDescend: Bool
  }

  /// One way to use an index.
  struct Choice {
    let index: IndexSchema
    var ranges: [KeyRange]
    /// The places of the conjuncts that the ranges stand for, exactly.
    var consumed: Set<Int> = []
    /// What the ranges stand for, in words.
    var reasons: [String] = []
    var isOrdered = false
    var isReversed = false
    var score = 0
    /// Whether all entries are walked, which are fewer than the rows.
    var isWhole = false
  }
}

extension FetchPlanner.Context {
  private var storeIdentifier: UUID { facts.storeIdentifier }
  var hierarchy: HierarchySchema { request.schema.hierarchies[request.hierarchyNumber] }
  /// Whether rows in the ascending order of their primary keys are in the order wanted.
  var isInKeyOrder: Bool { sorts.isEmpty && !keysDescend }

  func identifierPlan() -> FetchPlan? {
    for (place, conjunct) in conjuncts.enumerated() {
      guard case .selfIn(let identifiers) = conjunct else { continue }
      let keys = IdentifierKeys.of(
        identifiers, rootName: hierarchy.rootName, storeIdentifier: storeIdentifier)
      return finish(
        keys.isEmpty ? .nothing : .identifiers(keys), isOrdered: isInKeyOrder, consumed: [place],
        filtersEntities: filters(hierarchy.memberNumbers), words: "\(keys.count) identifiers")
    }
    return nil
  }

  func scanPlan() -> FetchPlan {
    finish(
      .scan, isOrdered: isInKeyOrder, consumed: [], filtersEntities: filters(hierarchy.memberNumbers),
      words: "scan of \(hierarchy.rootName)")
  }

  func plan(_ choice: FetchPlanner.Choice) -> FetchPlan {
    let ranges = KeyRange.normalized(choice.ranges)
    let covered = request.schema.entities[choice.index.owner].subtree
    var words = "index \(choice.index.name)"
    if let condition = choice.index.condition { words += " of rows with \(condition.text)" }
    if !choice.reasons.isEmpty { words += " where " + choice.reasons.joined(separator: ", ") }
    if choice.isReversed { words += ", backwards" }
    var plan = finish(
      ranges.isEmpty
        ? .nothing
        : .index(number: choice.index.number, ranges: ranges, isReversed: choice.isReversed),
      isOrdered: choice.isOrdered, consumed: choice.consumed, filtersEntities: filters(covered), words: words)
    plan.indexNames = [choice.index.name]
    if covers(choice.index, plan) {
      plan.isCovering = true
      plan.description = plan.description.replacingFirst("; then ", by: "; by its entries alone ")
    } else if choice.isWhole, mode == .rows || plan.residual != nil, sorts.isEmpty || !choice.isOrdered {
      // It may hold most of the rows.
      plan.alternative = FetchPlan.Alternative(scanPlan())
    }
    return plan
  }

  /// Whether the entries of an index tell what the residual asks, and no rows are asked for.
  private func covers(_ index: IndexSchema, _ plan: FetchPlan) -> Bool {
    guard request.start == nil, let residual = plan.residual, !plan.filtersEntities, residual.isLocal,
      plan.access != .nothing,
      mode == .count || mode == .identifiers && plan.isOrdered && request.entityNumbers.count == 1
    else { return false }
    let readable = IndexKeyReader.readableSlots(index)
    var isReadable = true
    residual.slots.forEach { if !readable.contains($0) { isReadable = false } }
    return isReadable
  }

  func filters(_ candidates: [Int]) -> Bool {
    !Set(candidates).isSubset(of: request.entityNumbers)
  }

  func finish(
    _ access: FetchPlan.Access, isOrdered: Bool, consumed: Set<Int>, filtersEntities: Bool, words: String
  ) -> FetchPlan {
    let rest = ResolvedPredicate.conjunction(
      conjuncts.indices.filter { !consumed.contains($0) }.map { conjuncts[$0] })
    var words = words
    if filtersEntities {
      let names = request.entityNumbers.map { request.schema.entities[$0].name }
      words += "; only \(names.joined(separator: ", "))"
    }
    if rest != .all { words += "; then \(rest)" }
    if !isOrdered {
      var keys = sorts.map {
        $0.name + ($0.isByBytes ? "" : " in \($0.comparator)") + ($0.isAscending ? "" : " descending")
      }
      if keysDescend { keys.append("primary key descending") }
      words += "; sort by \(keys.isEmpty ? "primary key" : keys.joined(separator: ", "))"
    }
    if request.offset > 0 { words += "; skip \(request.offset)" }
    if request.limit > 0 { words += "; take \(request.limit)" }
    let binder = request.binder(storeIdentifier: storeIdentifier)
    return FetchPlan(
      access: access, isOrdered: isOrdered,
      residual: rest == .all ? nil : binder.compile(rest, request.entity.number),
      fixedPart: fixedPart(of: rest).map { binder.compile($0, request.entity.number) },
      filtersEntities: filtersEntities, description: words)
  }

  /// The conjuncts that look at values of fixed width alone; nil when there are none, or no others.
  private func fixedPart(of predicate: ResolvedPredicate) -> ResolvedPredicate? {
    let parts = predicate.conjuncts
    let fixed = parts.filter { $0.isFixed(request.entity.layout) }
    return fixed.isEmpty || fixed.count == parts.count ? nil : .conjunction(fixed)
  }

  /// How `index` could serve the request; nil when it cannot.
  func choice(of index: IndexSchema) -> FetchPlanner.Choice? {
    var choice = FetchPlanner.Choice(index: index, ranges: [])
    let filter: IndexFilter?
    do { filter = try IndexFilter.of(index, request.schema) } catch { return nil }
    if let filter {
      guard let implied = filter.implied(by: conjuncts) else { return nil }
      choice.consumed = implied
    }
    var keys: [[UInt8]] = [[]]
    var fixedCount = 0
    var isSingle = true
    var ranges: [KeyRange]?
    for (place, part) in index.parts.enumerated() {
      let encoder = PartEncoder(index: index, place: place)
      if let (conjunct, test) = pointTest(part.slot, limit: FetchPlanner.maximumRangeCount / keys.count) {
        let components =
          test.operation == .isNil ? [encoder.component(.null)] : test.operands.map(encoder.component)
        keys = keys.flatMap { key in components.map { key + $0.bytes } }
        if !components.contains(where: \.isTruncated) { choice.consumed.insert(conjunct) }
        choice.reasons.append("\(test)")
        choice.score += 10
        if components.count == 1 && isSingle { fixedCount += 1 } else { isSingle = false }
        continue
      }
      if let (conjunct, references) = references(
        part.slot, limit: FetchPlanner.maximumRangeCount / keys.count)
      {
        let components = references.map { encoder.component($0).bytes }
        keys = keys.flatMap { key in components.map { key + $0 } }
        choice.consumed.insert(conjunct)
        choice.reasons.append("\(conjuncts[conjunct])")
        // Alone it is no better than the members of what the relationship leads to.
        choice.score += 8
        if components.count == 1 && isSingle { fixedCount += 1 } else { isSingle = false }
        continue
      }
      let narrowing = rangeTests(part.slot)
      if let (range, isExact) = encoder.range(narrowing.range) {
        ranges = keys.map { range.prefixed(by: $0) }
        if isExact { choice.consumed.formUnion(narrowing.conjuncts) }
        choice.reasons += narrowing.conjuncts.map { "\(conjuncts[$0])" }
        choice.score += 3 + narrowing.conjuncts.count
      }
      break
    }
    if index.isUnique && fixedCount == index.parts.count { choice.score += 100 }
    choice.ranges = ranges ?? keys.map { KeyRange(prefix: $0) }
    if filter != nil {
      choice.isWhole = choice.score == 0
      choice.score += 2
    }
    order(&choice, fixedCount: fixedCount)
    if choice.isWhole, mode == .rows, request.limit == 0, !sorts.isEmpty {
      // How many rows that is nobody knows yet: they are sorted when they have been found to be few.
      choice.isOrdered = false
      choice.isReversed = false
    }
    if choice.isOrdered, keys.count == 1, let start = request.start {
      begin(&choice, at: start, prefix: keys[0], fixedCount: fixedCount)
    }
    if choice.score == 0 && choice.isOrdered && isWorthItsOrder(choice) {
      choice.score = 1
    }
    // With a score of nothing it is for its order alone.
    return choice.score > 0 || choice.isOrdered && !sorts.isEmpty && request.limit > 0 ? choice : nil
  }

  /// A walk along an index that has nothing but the order wanted, for the first matches on the way.
  func trialPlan(_ choice: FetchPlanner.Choice) -> FetchPlan {
    var plan = plan(choice)
    if plan.isCovering { return plan }
    plan.isTrial = true
    plan.alternative = FetchPlan.Alternative(scanPlan())
    plan.description = plan.description.replacingFirst(
      "index \(choice.index.name)", by: "in the order of index \(choice.index.name)")
    return plan
  }

  /// Whether walking a whole index in order beats a scan and a sort.
  private func isWorthItsOrder(_ choice: FetchPlanner.Choice) -> Bool {
    guard !sorts.isEmpty, conjuncts.isEmpty else { return false }
    let covered = request.schema.entities[choice.index.owner].subtree
    if filters(covered) { return false }
    if mode == .identifiers && request.entityNumbers.count == 1 { return true }
    return request.limit > 0
  }

  /// Finds out whether the entries of the ranges come in the order wanted.
  private func order(_ choice: inout FetchPlanner.Choice, fixedCount: Int) {
    let rest = choice.index.parts.dropFirst(fixedCount)
    if sorts.isEmpty {
      choice.isOrdered = !ordersByKey || isInKeyOrder && rest.isEmpty && choice.ranges.count == 1
      return
    }
    // Equal entries of an index come by ascending primary key, in both directions.
    guard rest.count == sorts.count, !keysDescend else { return }
    var isReversed: Bool?
    for (part, sort) in zip(rest, sorts) {
      guard sort.steps.isEmpty, part.slot == sort.slot, sort.isByBytes, !sort.type.hasCutKeys else { return }
      let opposes = part.isAscending != sort.isAscending
      if let isReversed, isReversed != opposes { return }
      isReversed = opposes
    }
    choice.isOrdered = true
    choice.isReversed = isReversed ?? false
    choice.score += choice.score > 0 ? 1 : 0
  }

  /// Leaves out the entries before the start of the request: those of values that come earlier, and of the same values those up to the
  /// primary key, in ascending order whichever way the values run.
  private func begin(
    _ choice: inout FetchPlanner.Choice, at start: FetchStart, prefix: [UInt8], fixedCount: Int
  ) {
    var key = prefix
    var isExact = true
    for (place, sort) in zip(choice.index.parts.indices.dropFirst(fixedCount), sorts) {
      guard let wanted = request.sorts.firstIndex(of: sort) else { return }
      let component = PartEncoder(index: choice.index, place: place).component(start.values[wanted])
      key += component.bytes
      if component.isTruncated { isExact = false }
    }
    // Other values may be cut to the same bytes: then all of them are looked at again.
    let first = isExact ? key + start.firstKeyBytes : key
    if choice.isReversed {
      let equal = KeyRange(lower: first, upper: KeyRange.successor(key))
      let others = KeyRange(lower: [], upper: key)
      choice.ranges = choice.ranges.flatMap { [$0.intersection(others), $0.intersection(equal)] }
    } else {
      choice.ranges = choice.ranges.map { $0.intersection(KeyRange(lower: first, upper: nil)) }
    }
    choice.ranges.removeAll(where: \.isEmpty)
    choice.reasons.append("from the last page on")
  }

  /// A test of the slot for one value or few.
  private func pointTest(_ slot: Int, limit: Int) -> (conjunct: Int, test: SlotTest)? {
    for (place, conjunct) in conjuncts.enumerated() {
      guard case .test(let test) = conjunct, test.slot == slot else { continue }
      switch test.operation {
      case .equal, .isNil: return (place, test)
      case .oneOf where test.operands.count <= limit: return (place, test)
      default: continue
      }
    }
    return nil
  }

  /// What the to-one relationship of the slot may hold when it leads to objects we know. An identifier may name a superentity of its object's.
  private func references(_ slot: Int, limit: Int) -> (conjunct: Int, values: [AttributeValue])? {
    guard let relationship = request.entity.relationship(slot: slot), !facts.entityCodes.isEmpty else {
      return nil
    }
    let codes = request.schema.entities[relationship.destination].subtree.map { facts.entityCodes[$0] }
    for (place, conjunct) in conjuncts.enumerated() {
      guard case .reference(let test) = conjunct, test.slot == slot else { continue }
      let keys = IdentifierKeys.of(
        test.identifiers, rootName: test.rootName, storeIdentifier: storeIdentifier)
      guard !keys.isEmpty, keys.count * codes.count <= limit else { continue }
      return (
        place, keys.flatMap { key in codes.map { .reference(Reference.bits(key, entityCode: $0)) } }
      )
    }
    return nil
  }

  /// All tests of the slot that together leave a range.
  private func rangeTests(_ slot: Int) -> (range: PartRange, conjuncts: [Int]) {
    var range = PartRange()
    var used: [Int] = []
    for (place, conjunct) in conjuncts.enumerated() {
      guard case .test(let test) = conjunct, test.slot == slot else { continue }
      if range.prefix == nil, range.narrow(by: test) { used.append(place) }
    }
    return (range, used)
  }
}
