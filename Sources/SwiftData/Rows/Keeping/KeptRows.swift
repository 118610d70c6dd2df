import StrataCore

/// Rows that have left a context together, unsaved, and what their relationships led to: as long as an instance of one of them lives, each can be asked for the others, and
/// inserting one inserts them all.
///
/// The rows hold each other, so somebody has to end that: the last of their instances, on whichever thread.
final class KeptRows: @unchecked Sendable {
  // @unchecked Sendable: what is in it is read and written in turns. Rows are only changed here when there is no instance by which anybody could use them.
  private let turn = InstanceTurn()
  private var rows: [ObjectIdentifier: ModelRow] = [:]
  /// How many instances of the rows there are. One more until whoever has made this calls `leave()`.
  private var living = 1

  /// A row joins; its instance counts already, if it has one.
  func add(_ row: ModelRow) { turn.take { rows[ObjectIdentifier(row)] = row } }

  /// A row has got an instance.
  func enter() { turn.take { living += 1 } }

  /// An instance has ended.
  func leave() { end { living -= 1 } }

  /// A row is in a context again.
  func remove(_ row: ModelRow, hasInstance: Bool) {
    end {
      rows[ObjectIdentifier(row)] = nil
      if hasInstance { living -= 1 }
    }
  }

  private func end(_ body: () -> Void) {
    var gone: [ModelRow] = []
    turn.take {
      body()
      if living > 0 { return }
      gone = Array(rows.values)
      rows = [:]
    }
    for row in gone { row.forgetKept() }
  }
}

extension ModelRow {
  /// Whether an instance holds the row.
  final var isHeldByInstance: Bool {
    if !_wasHeld { return false }
    var isHeld = false
    _turn.take { isHeld = _isHeld }
    return isHeld
  }

  /// Whether the row has left its context before it was saved, and can be asked for what it was related to.
  final var isKeptUnsaved: Bool { _group != nil && rowVersion == nil }

  fileprivate final func join(_ group: KeptRows) {
    leaveGroup()
    _turn.take {
      _group = group
      if _isHeld { group.enter() }
    }
    group.add(self)
  }

  /// The row is in a context again.
  final func leaveGroup() {
    if _group == nil { return }
    var group: KeptRows?
    var isHeld = false
    _turn.take {
      (group, isHeld) = (_group, _isHeld)
      _group = nil
    }
    group?.remove(self, hasInstance: isHeld)
  }

  /// There is no instance any more that could ask.
  fileprivate final func forgetKept() {
    _turn.take { _group = nil }
    _decoded = nil
  }

  // MARK: Keeping

  /// The row is what it was before it left: it leads to what it led to by itself.
  final func endKeeping() {
    takeKept()
    leaveGroup()
  }

  /// These rows are about to leave their context, or the context is ending: they go on leading to what they lead to. Of rows that were saved, what was changed since is kept.
  ///
  /// Kept are rows, not instances. Of rows that no instance holds, nor a row that one holds leads to, nothing is kept.
  static func keepRelationships(of leaving: [ManagedObject]) {
    let leaving = leaving.compactMap { $0 as? ModelRow }
    var waiting = leaving.filter(\.isHeldByInstance)
    if waiting.isEmpty { return }
    let all = Set(leaving.map { ObjectIdentifier($0) })
    var found = Set(waiting.map { ObjectIdentifier($0) })
    let group = KeptRows()
    while let row = waiting.popLast() {
      let changed = row.isInserted ? nil : row.changedNames
      for property in row.plan.properties where changed?.contains(property.name) ?? true {
        guard let ends = row.ends(of: property) else { continue }
        row.keep(ends.filter { !$0.isDeleted }, property)
        for end in ends
        where all.contains(ObjectIdentifier(end)) && found.insert(ObjectIdentifier(end)).inserted {
          waiting.append(end)
        }
      }
      row.join(group)
    }
    group.leave()
  }

  /// The row, which is new, and the new ones that go with it when it is deleted.
  final var withCascades: [ModelRow] {
    var found = [self]
    var known: Set = [ObjectIdentifier(self)]
    var place = 0
    while place < found.count {
      let row = found[place]
      place += 1
      for property in row.plan.properties where property.cascades {
        for end in row.ends(of: property) ?? []
        where end.isInserted && known.insert(ObjectIdentifier(end)).inserted {
          found.append(end)
        }
      }
    }
    return found
  }

  /// The rows at the other end of a relationship; nil for an attribute.
  private final func ends(of property: ModelProperty) -> [ModelRow]? {
    switch property.descriptor.kind {
    case .attribute: nil
    case .toOne: relatedRow(property).map { [$0] } ?? []
    case .toMany: memberRows(property)
    }
  }

  /// Keeps what required relationships lead to, so that the instance can be asked for it when the row has left its context. Of a row that nobody has read or holds nothing
  /// is kept.
  final func keepTargets() {
    if isFault || knownModel == nil { return }
    withPlan { plan in
      for property in plan.properties {
        guard case .toOne(_, isOptional: false) = property.descriptor.kind, let row = relatedRow(property)
        else { continue }
        keep([row.anyModel()], property)
      }
    }
  }

  /// - Parameter ends: Models, or rows of models.
  final func keep(_ ends: [AnyObject], _ property: ModelProperty) {
    _decoded = _decoded ?? [:]
    _decoded?[property.slot] = (Data(), ends)
  }

  // MARK: What was kept

  /// The models that a relationship of a row leads to that has left its context; nil when nothing was kept of it.
  @inline(__always)
  final func kept(_ property: ModelProperty) -> [AnyObject]? {
    if _decoded == nil || isInContext { return nil }
    return keptModels(property)
  }

  @inline(never)
  private final func keptModels(_ property: ModelProperty) -> [AnyObject]? {
    guard let ends = _decoded?[property.slot]?.value as? [AnyObject] else { return nil }
    return ends.map { end in (end as? ModelRow).map { $0.anyModel() } ?? end }
  }

  /// What was kept of the relationships, models or rows; it is kept no more.
  @discardableResult
  final func takeKept() -> [(property: ModelProperty, ends: [AnyObject])] {
    if _decoded == nil { return [] }
    var found: [(property: ModelProperty, ends: [AnyObject])] = []
    for property in plan.properties {
      if case .attribute = property.descriptor.kind { continue }
      guard let ends = _decoded?.removeValue(forKey: property.slot)?.value as? [AnyObject] else { continue }
      found.append((property, ends))
    }
    return found
  }
}
