import Foundation

/// One save as a value: what a context wants the store to look like afterwards.
///
/// Its copies share what they say until one of them is changed: a save is handed on some fifteen times, and counts one reference each time.
package struct ChangeSet: Sendable {
  private var content: Content
  /// Whether references must lead to rows. A salvage looks after them when it has found all rows.
  package var checksReferences = true
  /// Whether both ends of one-to-one relationships must refer to each other. A batch sees to both, one after the other.
  var checksPartners = true
  /// Whether derived attributes that hold the time of a save keep what the rows bring along: they are no save, but are carried over.
  var keepsTimes = false
  /// Whether indexes are left as they are: a batch insert sees to them when all its rows are there.
  var leavesIndexes = false
  /// Whether values that must be unique are looked for. A batch update does so when it has written everything.
  var checksUniqueness = true

  package init(
    inserts: [RowChange] = [], updates: [RowChange] = [], deletes: [RowDeletion] = [],
    checks: [RowCheck] = [], edges: [EdgeChange] = [], metadata: StoreMetadata? = nil
  ) {
    content = Content()
    content.inserts = inserts
    content.updates = updates
    content.deletes = deletes
    content.checks = checks
    content.edges = edges
    content.metadata = metadata
  }

  // Inlined: a call would copy the change set of an object.

  /// How many rows are inserted, updated and deleted.
  @inline(__always)
  var count: Int { inserts.count + updates.count + deletes.count }

  /// Whether all that happens to rows is that there are new ones.
  @inline(__always)
  var isOnlyInserts: Bool { updates.isEmpty && deletes.isEmpty }

  /// Whether there is nothing to write and nothing to check.
  @inline(__always)
  package var isEmpty: Bool {
    inserts.isEmpty && updates.isEmpty && deletes.isEmpty && checks.isEmpty && edges.isEmpty
      && metadata == nil
  }
}

// MARK: What it says

extension ChangeSet {
  /// Rows that are new.
  package var inserts: [RowChange] {
    @inline(__always) _read { yield content.inserts }
    @inline(__always) _modify {
      own()
      yield &content.inserts
    }
  }
  /// Rows that replace a row of an earlier version.
  package var updates: [RowChange] {
    @inline(__always) _read { yield content.updates }
    @inline(__always) _modify {
      own()
      yield &content.updates
    }
  }
  /// Rows that go.
  package var deletes: [RowDeletion] {
    @inline(__always) _read { yield content.deletes }
    @inline(__always) _modify {
      own()
      yield &content.deletes
    }
  }
  /// Rows that stay but must still be of the version the context knows (rule 189, `detectConflicts(for:)`).
  package var checks: [RowCheck] {
    @inline(__always) _read { yield content.checks }
    @inline(__always) _modify {
      own()
      yield &content.checks
    }
  }
  /// What happens to relationships that are not in rows.
  package var edges: [EdgeChange] {
    @inline(__always) _read { yield content.edges }
    @inline(__always) _modify {
      own()
      yield &content.edges
    }
  }
  /// Rows that stay as they are although their relationships change: for those who merge the commit, the store does not look
  /// at them.
  package var touched: [RowTouch] {
    @inline(__always) _read { yield content.touched }
    @inline(__always) _modify {
      own()
      yield &content.touched
    }
  }
  /// Rows whose objects were edited and have the values that they had: for those who merge the commit, no store looks at them.
  package var resaved: [RowTouch] {
    @inline(__always) _read { yield content.resaved }
    @inline(__always) _modify {
      own()
      yield &content.resaved
    }
  }
  /// The author and context of the changes, for the store's history.
  package var origin: ChangeOrigin {
    @inline(__always) _read { yield content.origin }
    @inline(__always) _modify {
      own()
      yield &content.origin
    }
  }
  /// New metadata of the store; the standard keys are kept whatever it says (rule 148).
  package var metadata: StoreMetadata? {
    @inline(__always) _read { yield content.metadata }
    @inline(__always) _modify {
      own()
      yield &content.metadata
    }
  }
  /// Index entries that another thread is making.
  var earlyEntries: EarlyIndexEntries? {
    @inline(__always) _read { yield content.earlyEntries }
    @inline(__always) _modify {
      own()
      yield &content.earlyEntries
    }
  }

  /// Before a change: no copy sees it.
  @inline(__always)
  private mutating func own() {
    if !isKnownUniquelyReferenced(&content) { content = content.copy() }
  }

  // Unchecked: it is changed only while one change set has it.
  private final class Content: @unchecked Sendable {
    // `@exclusivity(unchecked)`: only the change sets that share it look at it, and accesses to those are checked.
    @exclusivity(unchecked) var inserts: [RowChange] = []
    @exclusivity(unchecked) var updates: [RowChange] = []
    @exclusivity(unchecked) var deletes: [RowDeletion] = []
    @exclusivity(unchecked) var checks: [RowCheck] = []
    @exclusivity(unchecked) var edges: [EdgeChange] = []
    @exclusivity(unchecked) var touched: [RowTouch] = []
    @exclusivity(unchecked) var resaved: [RowTouch] = []
    @exclusivity(unchecked) var origin = ChangeOrigin()
    @exclusivity(unchecked) var metadata: StoreMetadata?
    @exclusivity(unchecked) var earlyEntries: EarlyIndexEntries?

    func copy() -> Content {
      let copy = Content()
      copy.inserts = inserts
      copy.updates = updates
      copy.deletes = deletes
      copy.checks = checks
      copy.edges = edges
      copy.touched = touched
      copy.resaved = resaved
      copy.origin = origin
      copy.metadata = metadata
      copy.earlyEntries = earlyEntries
      return copy
    }
  }
}

extension ChangeSet {
  /// The change set as the store has written it, with what it has derived: rows of others stand behind all updates.
  func written(with derived: [RowChange]) -> ChangeSet {
    if derived.isEmpty { return self }
    struct Key: Hashable {
      let entity: Int
      let primaryKey: UInt64
    }
    var rows = Dictionary(
      derived.map { (Key(entity: $0.entity, primaryKey: $0.primaryKey), $0) }, uniquingKeysWith: { $1 })
    var written = self
    for place in inserts.indices {
      let key = Key(entity: inserts[place].entity, primaryKey: inserts[place].primaryKey)
      if let row = rows.removeValue(forKey: key) { written.inserts[place] = row }
    }
    for place in updates.indices {
      let key = Key(entity: updates[place].entity, primaryKey: updates[place].primaryKey)
      if let row = rows.removeValue(forKey: key) { written.updates[place] = row }
    }
    written.updates += derived.filter { rows[Key(entity: $0.entity, primaryKey: $0.primaryKey)] != nil }
    return written
  }
}

/// A row that is inserted or replaced, already encoded.
package struct RowChange: Sendable {
  /// The entity's number in the schema.
  package let entity: Int
  /// The row's key.
  package let primaryKey: UInt64
  /// The version the change is based on; 0 for an insert.
  package let baseVersion: UInt32
  /// The encoded row; its version is `baseVersion + 1`, its stamp the store's.
  package let row: RowSnapshot
  /// The values that are too large for the row.
  package let externals: [ExternalValue]
  /// The slots whose values differ from the base; all for an insert.
  package let changedSlots: SlotBitmap

  /// The row's bytes, valid as long as this lives.
  @inline(__always)
  var rowBytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: row.base, count: Int(row.count)) }

  package init(
    entity: Int, primaryKey: UInt64, baseVersion: UInt32, row: RowSnapshot, externals: [ExternalValue],
    changedSlots: SlotBitmap
  ) {
    self.entity = entity
    self.primaryKey = primaryKey
    self.baseVersion = baseVersion
    self.row = row
    self.externals = externals
    self.changedSlots = changedSlots
  }
}

/// A row that is deleted.
package struct RowDeletion: Sendable, Hashable {
  /// The entity's number in the schema.
  package let entity: Int
  /// The row's key.
  package let primaryKey: UInt64
  /// The version the context knows; `anyVersion` when it never read the row.
  package let baseVersion: UInt32

  /// The row goes whatever its version is.
  package static let anyVersion = UInt32.max

  package init(entity: Int, primaryKey: UInt64, baseVersion: UInt32) {
    self.entity = entity
    self.primaryKey = primaryKey
    self.baseVersion = baseVersion
  }
}

/// A row whose columns stay as they are, although its relationships change or its object is saved.
package struct RowTouch: Sendable, Hashable {
  /// The entity's number in the schema.
  package let entity: Int
  /// The row's key.
  package let primaryKey: UInt64

  package init(entity: Int, primaryKey: UInt64) {
    self.entity = entity
    self.primaryKey = primaryKey
  }
}

/// A row that must not have changed.
package struct RowCheck: Sendable, Hashable {
  /// The hierarchy's number in the schema.
  package let hierarchy: Int
  /// The row's key.
  package let primaryKey: UInt64
  /// The version the context knows.
  package let baseVersion: UInt32

  package init(hierarchy: Int, primaryKey: UInt64, baseVersion: UInt32) {
    self.hierarchy = hierarchy
    self.primaryKey = primaryKey
    self.baseVersion = baseVersion
  }
}
