import StrataCore
import Synchronization

/// The identity of a model, which may go to any context, actor, file or network.
///
/// Temporary, and equal to no other, from the model's initialiser to the first save; then it names store, entity and key, and never changes again. One that was encoded and
/// decoded is equal to what it was made from.
public struct PersistentIdentifier: Hashable, Identifiable, Equatable, Comparable, Sendable {
  /// What tells identifiers apart.
  public struct ID: Hashable, Equatable, Sendable {
    let form: Form
  }

  /// The identifier's own identity.
  public let id: ID

  // Indirect but for the commonest: identifiers are copied more often than made.
  enum Form: Sendable {
    /// Of a model that was not saved yet, or never will be.
    indirect case temporary(number: UInt64, entityName: String)
    /// Of a row of a store that this process has opened.
    case row(ManagedObjectID)
    /// Of a row of a store that was not open when the identifier was decoded.
    indirect case named(store: UUID, entityName: String, key: UInt64)
    /// Of a row of a store of the program's own.
    indirect case foreign(ForeignKey)
  }

  /// The identity of a model in a store of the program's own making.
  struct ForeignKey: Hashable, Sendable {
    let store: String
    let entityName: String
    /// The primary key as JSON in an array of one, in which equal keys are equal.
    let key: String
  }

  init(_ form: Form) { id = ID(form: form) }
  init(_ row: ManagedObjectID) { id = ID(form: ForeignStores.form(of: row) ?? .row(row)) }

  /// The name of the model's class, without what it is nested in.
  public var entityName: String {
    switch id.form {
    case .temporary(_, let name), .named(_, let name, _): name
    case .row(let row): row.entityName
    case .foreign(let key): key.entityName
    }
  }

  /// The identifier of the store; nil while the identifier is temporary.
  public var storeIdentifier: String? {
    switch id.form {
    case .temporary: nil
    case .row(let row): row.storeIdentifier.uuidString
    case .named(let store, _, _): store.uuidString
    case .foreign(let key): key.store
    }
  }

  /// Whether the model was never saved.
  public var isTemporary: Bool { if case .temporary = id.form { true } else { false } }

  /// An order of all identifiers: by store, entity and key, temporary ones first.
  public static func < (lhs: PersistentIdentifier, rhs: PersistentIdentifier) -> Bool {
    let (a, b) = (lhs.id.form.place, rhs.id.form.place)
    if a.store != b.store { return a.store < b.store }
    if a.entity != b.entity { return a.entity < b.entity }
    if a.key != b.key { return a.key < b.key }
    return a.text < b.text
  }

  // MARK: Temporary ones

  private static let lastNumber = Atomic<UInt64>(0)
  static func nextTemporaryNumber() -> UInt64 {
    lastNumber.wrappingAdd(1, ordering: .relaxed).newValue
  }

  // MARK: By names

  /// The identifier of a model in a ``DataStore``: the store, the class and a key that no other model of the class has there.
  ///
  /// With the UUID of one of Strata's own stores and a key such as `"p1"`, the last part of an object ID's URI, it is the identifier of that row. Whether there is such a store or
  /// such a row is not asked.
  ///
  /// - Throws: what encoding the key throws.
  public static func identifier<T>(for storeIdentifier: String, entityName: String, primaryKey: T) throws
    -> PersistentIdentifier
  where T: Comparable, T: CustomStringConvertible, T: Decodable, T: Encodable, T: Hashable {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    let key = String(decoding: try encoder.encode([primaryKey]), as: UTF8.self)
    return PersistentIdentifier(.of(storeIdentifier, entityName, key: key))
  }
}

extension PersistentIdentifier.Form: Hashable {
  static func == (a: Self, b: Self) -> Bool {
    switch (a, b) {
    case (.temporary(let a, _), .temporary(let b, _)): a == b
    case (.row(let a), .row(let b)): a == b
    case (.foreign(let a), .foreign(let b)): a == b
    case (.row, .named), (.named, .row), (.named, .named):
      a.key == b.key && a.storeUUID == b.storeUUID && a.entity == b.entity
    default: false
    }
  }

  func hash(into hasher: inout Hasher) {
    switch self {
    case .temporary(let number, _): hasher.combine(number)
    case .row(let row): hasher.combine(row.key)
    case .named(_, _, let key): hasher.combine(key)
    case .foreign(let key): hasher.combine(key)
    }
  }

  fileprivate var key: UInt64 {
    switch self {
    case .temporary(let number, _): number
    case .row(let row): row.key
    case .named(_, _, let key): key
    case .foreign: 0
    }
  }

  fileprivate var storeUUID: UUID? {
    switch self {
    case .row(let row): row.storeIdentifier
    case .named(let store, _, _): store
    case .temporary, .foreign: nil
    }
  }

  private var entity: String {
    switch self {
    case .temporary(_, let name), .named(_, let name, _): name
    case .row(let row): row.entityName
    case .foreign(let key): key.entityName
    }
  }

  fileprivate var place: (store: String, entity: String, key: UInt64, text: String) {
    switch self {
    case .temporary(let number, let name): ("", name, number, "")
    case .row(let row): (row.storeIdentifier.uuidString, row.entityName, row.key, "")
    case .named(let store, let name, let key): (store.uuidString, name, key, "")
    case .foreign(let key): (key.store, key.entityName, 0, key.key)
    }
  }
}

extension PersistentIdentifier: CustomStringConvertible {
  public var description: String {
    switch id.form {
    case .temporary(let number, let name): "\(name)/t\(number)"
    case .row(let row): row.description
    case .named(let store, let name, let key):
      "x-coredata://\(store.uuidString)/\(ManagedObjectID.escaped(name))/p\(key)"
    case .foreign(let key): "\(key.store)/\(key.entityName)/\(key.key)"
    }
  }
}
