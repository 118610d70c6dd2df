import Foundation

/// A commit that can be gone through from row to row, of a store that is in no file: what dumps and figures need.
package protocol WalkedSnapshot: StoreSnapshot {
  /// The next rows of a hierarchy from a key on, ascending by key; fewer than `count` when there are no more.
  func rows(hierarchy: Int, from key: UInt64, most count: Int) throws -> [FetchedRow]

  /// What the store says of itself.
  func facts() throws -> StoreFacts

  /// Where its bytes are.
  func parts() throws -> [StoredPart]
}

/// Some of the bytes of a store.
package struct StoredPart: Sendable, Equatable {
  /// What is kept there, in words.
  package let words: String
  package let byteCount: Int

  package init(words: String, byteCount: Int) {
    self.words = words
    self.byteCount = byteCount
  }
}

/// What a store says of itself, and another file of the same objects must say too.
package struct StoreFacts: Sendable, Equatable {
  /// The store's UUID.
  package var identifier: UUID
  /// The model as a store keeps it: JSON.
  package var model: Data
  /// The entities that the store holds: those of its configuration.
  package var entities: [String]
  /// By root entity, the smallest primary key that was never reserved.
  package var counters: [String: UInt64]
  /// The program's own metadata as a store keeps it, JSON; nil for none.
  package var metadata: Data?
  /// The checksums of the versions of its model that the store was of before.
  package var lineage: [String]
  /// The indexes that were added to the store, as it keeps them: JSON, one each.
  package var addedIndexes: [Data]
  /// Whether every save is recorded in a history.
  package var recordsHistory: Bool

  /// The facts of a store that has nothing yet.
  package init(
    identifier: UUID = UUID(), model: Data, entities: [String] = [], counters: [String: UInt64] = [:],
    metadata: Data? = nil, lineage: [String] = [], addedIndexes: [Data] = [], recordsHistory: Bool = false
  ) {
    self.identifier = identifier
    self.model = model
    self.entities = entities
    self.counters = counters
    self.metadata = metadata
    self.lineage = lineage
    self.addedIndexes = addedIndexes
    self.recordsHistory = recordsHistory
  }
}
