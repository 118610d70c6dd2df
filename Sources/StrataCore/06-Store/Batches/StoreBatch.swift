import Foundation

/// Many rows inserted, updated or deleted straight in a store, in one transaction: all of it happens or nothing (rules 266–275).
///
/// A value, made by code that knows names and types; the store only knows slots and bytes.
package struct StoreBatch: Sendable {
  /// What is to happen.
  package enum Operation: Sendable {
    /// New rows; what happens to those that share values with a record there is.
    case insert(BatchRows, duplicates: DuplicateRule = .refuse)
    /// New values for the rows that match.
    case update(BatchUpdate)
    /// No rows any more.
    case delete(BatchDeletion)
  }

  /// What is to happen.
  package let operation: Operation
  /// Counts the rows as they are written, and stops the batch when it is cancelled: then nothing is written.
  package let progress: BatchProgress
  /// The author and context of the changes, for the store's history.
  package var origin = ChangeOrigin()
  /// How many rows are written at a time.
  let step: Int
  /// About how many bytes of changed pages LMDB may hold before they are handed over.
  var heldLength: Int

  /// A batch that does `operation`.
  package init(_ operation: Operation, progress: BatchProgress = BatchProgress()) {
    self.init(operation, progress: progress, step: BatchRows.chunkCount)
  }

  init(_ operation: Operation, progress: BatchProgress, step: Int) {
    self.operation = operation
    self.progress = progress
    self.step = step
    heldLength =
      if case .insert = operation { BatchWriting.heldLength } else { BatchWriting.heldLengthOfChanges }
  }
}

/// What happens to a row of a batch insert that has the values of a uniqueness constraint in common with a record there is already, or
/// with an earlier row of the batch (rules 205, 273).
package enum DuplicateRule: Sendable {
  /// Nothing of the batch is written: `BatchDuplicates`.
  case refuse
  /// It is left out.
  case keep
  /// The record gets the values that the row was given.
  case update
  /// The record gets all values of the row, defaults and nil as well.
  case replace
}

/// Which rows get which values.
package struct BatchUpdate: Sendable {
  /// A slot and what goes into it.
  package struct Assignment: Sendable {
    /// What goes into a slot.
    enum Value: Sendable {
      /// The same in all rows, of the slot's type.
      case constant(AttributeValue)
      /// What the row makes of it, as it was before the batch.
      case expression(ResolvedExpression)
    }
    /// The slot, in the numbering of the request's entity, which is that of its subentities too.
    package let slot: Int
    let value: Value

    /// The value when it is the same in all rows; nil when each row makes its own.
    package var constant: AttributeValue? {
      if case .constant(let value) = value { return value }
      return nil
    }
  }

  /// Which rows; its window counts.
  package let request: ResolvedFetchRequest
  /// What they get, each slot at most once.
  package let assignments: [Assignment]
  /// Whether numbers that expressions give are cut off to what an integer or Boolean attribute holds, as values are that the request itself names.
  let cutsNumbers: Bool

  /// Gives the rows that match `request` the values in `assignments`.
  init(request: ResolvedFetchRequest, assignments: [Assignment], cutsNumbers: Bool = false) {
    self.request = request
    self.assignments = assignments
    self.cutsNumbers = cutsNumbers
  }
}

/// Which rows go, and with them those that the delete rules take along.
package enum BatchDeletion: Sendable {
  /// The rows that match; the window counts.
  case matching(ResolvedFetchRequest)
  /// The rows of a hierarchy with these keys. Those that do not exist are gone already.
  case rows(hierarchy: Int, primaryKeys: [UInt64])
}

/// What a batch did.
package struct BatchChanges: Sendable {
  /// The rows that are new, in the order in which they were made.
  package var inserted: BatchKeys
  /// The rows that matched and have the values now.
  package var updated: BatchKeys
  /// The rows that matched, or that delete rules took along.
  package var deleted: BatchKeys
  /// Other rows that have changed: what referred to a deleted row, the other ends of one-to-one relationships, derived values.
  package var touched: BatchKeys
  /// Rows whose relationships have changed, but not they themselves: owners of deleted members; of other processes' commits, all.
  package var related: BatchKeys
  /// The entities of which any row may have changed, been inserted or deleted: it was not recorded which. Other processes'
  /// commits only.
  package var uncertain: [Int] = []
  /// Rows that a context holds and that may have changed or gone. Only in the course of merging.
  var suspected: BatchKeys
  /// Which slots of updated and touched rows may have other values, by entity number.
  package var changedSlots: [Int: SlotBitmap] = [:]
  /// Of an insert that has met records: the records that its rows have become, each once, in the order of the rows. Nil when each row has
  /// become a record of its own.
  package var records: [BatchRecord]?

  package init(entityCount: Int) {
    let none = BatchKeys(entityCount: entityCount)
    (inserted, updated, deleted, touched) = (none, none, none, none)
    (related, suspected) = (none, none)
  }

  /// How many rows have changed.
  var count: Int {
    inserted.count + updated.count + deleted.count + touched.count + related.count + suspected.count
  }
}

/// A record that a row of a batch insert has become.
package struct BatchRecord: Sendable {
  package let entity: Int
  package let primaryKey: UInt64
  /// Whether it was not there before.
  package let isNew: Bool

  package init(entity: Int, primaryKey: UInt64, isNew: Bool) {
    self.entity = entity
    self.primaryKey = primaryKey
    self.isNew = isNew
  }
}

/// A batch that a store has carried out.
package struct BatchOutcome: Sendable {
  /// The store's own count of its commits.
  package let commitNumber: UInt64
  /// What has changed.
  package let changes: BatchChanges
  /// Whether the number is of this batch: one that has nothing to write has that of the commit before it, which may be another process's.
  let hasWritten: Bool

  package init(commitNumber: UInt64, changes: BatchChanges, hasWritten: Bool = true) {
    self.commitNumber = commitNumber
    self.changes = changes
    self.hasWritten = hasWritten
  }
}

extension StoreEngine {
  /// What new rows of `entity` are collected in: beside the store's file when they are many. `slots` are the entity's stored ones.
  func makeBatchRows(entity: Int, slots: SlotBitmap, keepsGiven: Bool, step: Int) -> BatchRows {
    let folder = url?.deletingLastPathComponent() ?? FileManager.default.temporaryDirectory
    let entries = (self as? LMDBStore)?.makeBatchEntries(entity: entity, folder: folder.path)
    return BatchRows(
      entity: entity, slots: slots, folder: folder.path, keepsGiven: keepsGiven, step: step, entries: entries)
  }

  /// For engines that know no batches: fails with `CoreDataError` 134091.
  package func execute(
    _ batch: StoreBatch, deadline: Duration?,
    completion: @escaping @Sendable (Result<BatchOutcome, any Error>) -> Void
  ) {
    completion(
      .failure(
        CoreDataError(
          .persistentStoreUnsupportedRequestType,
          "Stores of type \(storeType) carry out no batch requests; change the objects in a context and save it."
        )))
  }
}
