import Strata

/// What the store of a `ReferenceContext` tree holds, in plain dictionaries.
final class ReferenceTreeStore {
  /// By number.
  var rows: [Int: ReferenceTreeRow] = [:]
  /// Numbers of all leaves that have ever been stored.
  var everStored: Set<Int> = []
}

/// One state of a leaf. Stored ones count versions, those that were never saved have none.
struct ReferenceTreeRow {
  var values: [TreeValue]
  var version: Int?

  /// The row with `changes` on top: not saved yet.
  func with(_ changes: [Int: TreeValue]) -> ReferenceTreeRow {
    var result = ReferenceTreeRow(values: values, version: nil)
    for (slot, value) in changes { result.values[slot] = value }
    return result
  }
}

/// What a context does to a leaf: its row afterwards, the one beneath, and which values it has changed.
struct ReferenceChange {
  enum Kind { case insert, update, delete }
  var kind: Kind
  var row: ReferenceTreeRow?
  var base: ReferenceTreeRow?
  var changed: Set<Int>

  /// Whether the leaf is saved just as it was.
  var changesNothing: Bool { kind == .update && changed.isEmpty }

  /// The changed values.
  var changes: [Int: TreeValue] {
    guard let row else { return [:] }
    return Dictionary(uniqueKeysWithValues: changed.map { ($0, row.values[$0]) })
  }
}

/// An object of a context: the row it was last read from or saved as, and the edits since.
final class ReferenceLeaf {
  let number: Int
  /// The real object, as long as the test holds it.
  var object: ManagedObject?
  var isFault = true
  var row: ReferenceTreeRow?
  var edits: [Int: TreeValue] = [:]
  /// What this context itself did to it.
  var own: ReferenceChange.Kind? {
    didSet { if own != nil { isListed = true } }
  }
  /// Edited or deleted since the last save, even if that was taken back: the context keeps it.
  var isListed = false
  /// Deleted because the row is gone: nothing is left to delete.
  var isRowGone = false
  /// Deleted only because the row is gone, not by a deletion here; and what it was before.
  var isMissing = false
  var ownBefore: ReferenceChange.Kind?

  init(_ number: Int) { self.number = number }

  /// The row is gone: the context counts it as deleted.
  func vanish() {
    if own == .delete { return }
    isMissing = true
    ownBefore = own
    own = .delete
  }

  /// The row is there again.
  func comeBack() {
    isRowGone = false
    if isMissing { own = ownBefore }
    isMissing = false
  }

  /// A newer row comes: what is back at what the old one says is no edit. Large values are not compared.
  func dropSettledEdits() {
    guard let row else { return }
    edits = edits.filter { $0.value != row.values[$0.key] || row.values[$0.key].isLarge }
  }

  func value(_ slot: Int) -> TreeValue { edits[slot] ?? row?.values[slot] ?? .none }

  /// What the context's save and its children see of the object's own edits.
  var ownChange: ReferenceChange? {
    switch own {
    case nil: return nil
    case .delete: return ReferenceChange(kind: .delete, row: nil, base: row, changed: [])
    case .insert:
      let values = TreeModel.names.indices.map(value)
      return ReferenceChange(
        kind: .insert, row: ReferenceTreeRow(values: values), base: nil, changed: Set(values.indices))
    case .update:
      guard let row else { return nil }
      // Large values are not compared.
      let changed = edits.filter { $0.value != row.values[$0.key] || row.values[$0.key].isLarge }
      return ReferenceChange(kind: .update, row: row.with(edits), base: row, changed: Set(changed.keys))
    }
  }
}

/// What must be in one context of a tree: plain dictionaries, laid one over the other.
///
///     own edits ─ over ─ what children saved here ─ over ─ the same of the parent ─ over … the store
final class ReferenceNode {
  let store: ReferenceTreeStore
  let parent: ReferenceNode?
  /// What children have saved and was not edited here.
  var received: [Int: ReferenceChange] = [:]
  /// Objects that are held or have edits, by number.
  var leaves: [Int: ReferenceLeaf] = [:]

  init(_ store: ReferenceTreeStore, parent: ReferenceNode?) {
    self.store = store
    self.parent = parent
  }

  // MARK: What is seen

  /// What this context itself has not saved of a leaf.
  func change(_ number: Int) -> ReferenceChange? { leaves[number]?.ownChange ?? received[number] }

  /// The leaf as it is below this context; nil when there is none.
  func beneath(_ number: Int) -> ReferenceTreeRow? {
    guard let parent else { return store.rows[number] }
    return parent.visible(number)
  }

  /// The leaf as children see it, and fetches here that find no object.
  func visible(_ number: Int) -> ReferenceTreeRow? {
    if let change = change(number) { return change.row }
    return beneath(number)
  }

  /// Whether the leaf was inserted and has not reached the store.
  func isNew(_ number: Int) -> Bool { change(number)?.kind == .insert || parent?.isNew(number) ?? false }

  /// Whether this context, one below or the store has a value that is written outside its row.
  func isSomewhere(_ value: TreeValue, _ number: Int, _ slot: Int) -> Bool {
    if let change = change(number), change.changed.contains(slot), change.row?.values[slot] == value {
      return true
    }
    if let parent { return parent.isSomewhere(value, number, slot) }
    return store.rows[number]?.values[slot] == value
  }

  /// The numbers of everything a fetch finds.
  var visibleNumbers: [Int] {
    var numbers = Set(store.rows.keys)
    var node: ReferenceNode? = self
    while let next = node {
      numbers.formUnion(next.leaves.keys)
      numbers.formUnion(next.received.keys)
      node = next.parent
    }
    return numbers.filter { visible($0) != nil }.sorted()
  }

  func numbers(_ kind: ReferenceChange.Kind) -> [Int] {
    let own = leaves.values.filter { $0.own == kind }.map(\.number)
    return (own + received.filter { $0.value.kind == kind }.keys).sorted()
  }

  var hasChanges: Bool { !received.isEmpty || leaves.values.contains { $0.own != nil } }

  func kind(_ leaf: ReferenceLeaf) -> ReferenceChange.Kind? { leaf.own ?? received[leaf.number]?.kind }

  // MARK: Objects

  /// The object for a number, made as a fault when there is none.
  func leaf(_ number: Int) -> ReferenceLeaf {
    if let known = leaves[number] { return known }
    let new = ReferenceLeaf(number)
    if let change = received[number] { new.row = change.row ?? change.base }
    leaves[number] = new
    return new
  }

  /// The row a fault takes, or a refresh.
  private func newestRow(_ leaf: ReferenceLeaf) -> ReferenceTreeRow? {
    if leaf.own != nil { return beneath(leaf.number) }
    // What will be deleted looks as it did.
    if let mine = received[leaf.number], mine.kind == .delete { return mine.base }
    return visible(leaf.number)
  }

  func fire(_ leaf: ReferenceLeaf) {
    guard leaf.isFault else { return }
    leaf.row = leaf.row ?? newestRow(leaf)
    leaf.isFault = false
    if leaf.row == nil {
      leaf.isRowGone = true
      leaf.vanish()
    }
  }

  /// A fetch hands the object out.
  func fetched(_ leaf: ReferenceLeaf, includesPendingChanges: Bool) {
    guard leaf.isFault else { return }
    if leaf.own == nil, includesPendingChanges || received[leaf.number] == nil {
      leaf.row = visible(leaf.number)
    } else if leaf.own == .delete, !includesPendingChanges {
      leaf.row = beneath(leaf.number)
    }
  }

  /// What a child saved becomes this context's own edit.
  func claim(_ leaf: ReferenceLeaf) {
    guard let change = received[leaf.number], leaf.own == nil else { return }
    fire(leaf)
    received[leaf.number] = nil
    leaf.own = change.kind
    if change.kind != .delete { leaf.edits = change.changes }
    leaf.row = change.base
  }

  // MARK: Steps

  func insert(_ number: Int) -> ReferenceLeaf {
    let new = leaf(number)
    new.isFault = false
    new.own = .insert
    new.edits = [0: .number(Int64(number)), 1: .number(0)]
    return new
  }

  func edit(_ leaf: ReferenceLeaf, _ slot: Int, _ value: TreeValue) {
    fire(leaf)
    // What was to be looked at was gone.
    if leaf.isRowGone { return }
    claim(leaf)
    leaf.edits[slot] = value
    if leaf.own == nil { leaf.own = .update }
  }

  /// True when the object is gone at once, having been new.
  func delete(_ leaf: ReferenceLeaf) -> Bool {
    claim(leaf)
    if leaf.own == .insert {
      leaves[leaf.number] = nil
      return true
    }
    leaf.own = .delete
    return false
  }

  /// Returns the numbers of the objects that left the context.
  func rollback() -> [Int] {
    var gone: [Int] = []
    for leaf in leaves.values {
      if let own = leaf.own {
        if own == .insert || leaf.isRowGone { gone.append(leaf.number) }
        leaf.own = nil
        leaf.edits = [:]
      } else if let change = received[leaf.number] {
        if change.kind == .insert { gone.append(leaf.number) }
        leaf.row = change.base
      }
      leaf.isListed = false
    }
    received = [:]
    for number in gone { leaves[number] = nil }
    return gone
  }

  func reset() {
    leaves = [:]
    received = [:]
  }

  func refresh(_ leaf: ReferenceLeaf, mergeChanges: Bool) {
    if kind(leaf) == .insert { return }
    if mergeChanges {
      claim(leaf)
      refreshKeepingEdits(leaf)
    } else {
      received[leaf.number] = nil
      leaf.own = nil
      leaf.edits = [:]
      leaf.isRowGone = false
      leaf.isMissing = false
      leaf.isFault = true
      leaf.row = nil
    }
  }

  func refreshAll() {
    for (number, change) in received where change.kind != .insert && isOutdated(change, number) {
      claim(leaf(number))
    }
    for leaf in leaves.values where kind(leaf) != .insert {
      if kind(leaf) != nil {
        refreshKeepingEdits(leaf)
      } else {
        leaf.isFault = true
        leaf.row = nil
      }
    }
  }

  /// Whether there is another row now beneath what a child has saved.
  private func isOutdated(_ change: ReferenceChange, _ number: Int) -> Bool {
    guard let row = beneath(number) else { return false }
    if let new = row.version, let old = change.base?.version { return new != old }
    return row.values != change.base?.values
  }

  private func refreshKeepingEdits(_ leaf: ReferenceLeaf) {
    if leaf.isFault, !leaf.isRowGone {
      leaf.row = nil
    } else if let row = newestRow(leaf) {
      if leaf.isRowGone { leaf.comeBack() }
      leaf.dropSettledEdits()
      leaf.row = row
    }
  }
}
