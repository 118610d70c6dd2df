import Foundation
import Synchronization

extension Schema {
  /// The ID of a record, by the number of its entity, whether or not there is such a record, and whether or not its store is open.
  package func identifier(entity: Int, primaryKey: UInt64, storeIdentifier: UUID) -> ManagedObjectID {
    ManagedObjectID(
      token: .token(storeIdentifier: storeIdentifier, entity: entities[entity], in: self),
      primaryKey: primaryKey)
  }
}

extension ManagedObjectID {
  /// The record's key within its hierarchy.
  package var recordKey: UInt64 { primaryKey }
}

/// How the records of a store are named in the URIs of their IDs, where that is not the primary key.
package protocol IdentifierSpelling: Sendable {
  /// The last part of a URI, unescaped. Never empty.
  func text(ofKey key: UInt64, rootName: String) -> String
  /// The key that a text stands for; nil for none.
  func key(ofText text: String, entityName: String) -> UInt64?
}

/// The stores whose URIs are spelled in their own way. They stay for the life of the process, as IDs do.
package enum IdentifierSpellings {
  private static let spellings = Mutex<[UUID: any IdentifierSpelling]>([:])
  /// So that most processes, in which there are none, need not look.
  private static let isUsed = Atomic<Bool>(false)

  /// The spelling of a store, made by `make` the first time.
  package static func spelling<Spelling: IdentifierSpelling>(
    of storeIdentifier: UUID, make: () -> Spelling
  ) -> Spelling? {
    isUsed.store(true, ordering: .releasing)
    return spellings.withLock { spellings in
      if let known = spellings[storeIdentifier] { return known as? Spelling }
      let new = make()
      spellings[storeIdentifier] = new
      return new
    }
  }

  static func spelling(of storeIdentifier: UUID) -> (any IdentifierSpelling)? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return spellings.withLock { $0[storeIdentifier] }
  }
}
