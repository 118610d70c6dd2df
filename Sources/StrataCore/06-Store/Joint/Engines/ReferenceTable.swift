import Foundation
import Synchronization

/// What the records of one store of the program's own are called there, and by which keys Strata knows them.
///
/// One for each UUID of a store in the process: IDs of all stacks that have the store open are the same. Two references that are spelled alike, such as a UUID
/// and its text, name the same record of a hierarchy. Entries stay for the life of the process: IDs may be held by anybody.
package final class ReferenceTable: IdentifierSpelling {
  /// What one record is called.
  package struct Entry: @unchecked Sendable {
    // @unchecked Sendable: references are values that nobody changes: texts, numbers, UUIDs.

    package let reference: Any
    package let text: String
    package let entityName: String
  }

  private struct Hierarchy {
    var entries: [UInt64: Entry] = [:]
    var keys: [String: UInt64] = [:]
    var lastKey: UInt64 = 0

    mutating func makeKey() -> UInt64 {
      lastKey += 1
      return lastKey
    }
  }

  private struct State {
    var hierarchies: [String: Hierarchy] = [:]
    /// The roots of the entities of all models that the store was opened with.
    var roots: [String: String] = [:]
  }
  private let state = Mutex(State())

  /// The table of the store with that UUID, which learns the entities of a model.
  package static func of(_ storeIdentifier: UUID, _ schema: Schema) -> ReferenceTable {
    guard let table = IdentifierSpellings.spelling(of: storeIdentifier, make: ReferenceTable.init) else {
      trap("the store \(storeIdentifier) spells its IDs in another way already")
    }
    table.state.withLock { state in
      for entity in schema.entities {
        state.roots[entity.name] = schema.hierarchies[entity.hierarchyNumber].rootName
      }
    }
    return table
  }

  /// How URIs spell a reference.
  package static func text(of reference: Any) -> String {
    switch reference {
    case let uuid as UUID: uuid.uuidString
    case let text as String: text
    case let url as URL: url.absoluteString
    default: "\(reference)"
    }
  }

  /// A key for a new record, which has no reference yet.
  package func makeKey(root: String) -> UInt64 {
    state.withLock { $0.hierarchies[root, default: Hierarchy()].makeKey() }
  }

  /// The key of the record with that reference, a new one when it was not known.
  /// - Parameter claim: Gives the key of a new object that waits for its reference, if there is one.
  package func key(
    of reference: Any, entityName: String, root: String, claim: () -> UInt64? = { nil }
  ) -> UInt64 {
    let text = Self.text(of: reference)
    let entry = Entry(reference: reference, text: text, entityName: entityName)
    let known = state.withLock { $0.hierarchies[root]?.keys[text] }
    let claimed = known == nil ? claim() : nil
    return state.withLock { state in
      var hierarchy = state.hierarchies[root] ?? Hierarchy()
      let key = known ?? claimed ?? hierarchy.keys[text] ?? hierarchy.makeKey()
      hierarchy.keys[text] = key
      hierarchy.entries[key] = entry
      state.hierarchies[root] = hierarchy
      return key
    }
  }

  /// What the record with that key is called; nil for one without a reference.
  package func entry(_ key: UInt64, root: String) -> Entry? {
    state.withLock { $0.hierarchies[root]?.entries[key] }
  }

  /// The same by the name of an entity of the hierarchy.
  package func entry(_ key: UInt64, entityName: String) -> Entry? {
    state.withLock { state in state.roots[entityName].flatMap { state.hierarchies[$0]?.entries[key] } }
  }

  /// The key of the record with that reference; nil when it is not known.
  package func knownKey(of reference: Any, root: String) -> UInt64? {
    let text = Self.text(of: reference)
    return state.withLock { $0.hierarchies[root]?.keys[text] }
  }

  /// A record is gone: one that gets its reference later is another.
  package func release(_ key: UInt64, root: String) {
    state.withLock { state in
      guard let entry = state.hierarchies[root]?.entries[key],
        state.hierarchies[root]?.keys[entry.text] == key
      else { return }
      state.hierarchies[root]?.keys[entry.text] = nil
    }
  }

  /// The UUID of a store that is called `text`: that which the text is, otherwise one that is made of it, the same in every process.
  package static func storeUUID(of text: String) -> UUID {
    if let uuid = UUID(uuidString: text) { return uuid }
    func hash(_ start: UInt64) -> UInt64 {
      text.utf8.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
    let halves = [hash(0xcbf2_9ce4_8422_2325), hash(0x9e37_79b9_7f4a_7c15)]
    let bytes = halves.flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (8 * $0)) } }
    return NSUUID(uuidBytes: bytes) as UUID
  }

  // MARK: URIs

  package func text(ofKey key: UInt64, rootName: String) -> String {
    entry(key, root: rootName).map { "p" + $0.text } ?? "t\(key)"
  }

  package func key(ofText text: String, entityName: String) -> UInt64? {
    guard let root = state.withLock({ $0.roots[entityName] }) else { return nil }
    let name = String(text.dropFirst())
    if text.first == "t" { return UInt64(name).flatMap { $0 > 0 && $0 < 1 << 48 ? $0 : nil } }
    guard text.first == "p", !name.isEmpty else { return nil }
    if let known = state.withLock({ $0.hierarchies[root]?.keys[name] }) { return known }
    // As Core Data does: what looks like a number was one.
    let reference: Any = Int(name).flatMap { "\($0)" == name ? NSNumber(value: $0) : nil } ?? name
    return key(of: reference, entityName: entityName, root: root)
  }
}
