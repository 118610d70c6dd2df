import StrataCore

/// A moment in the history of a container's stores. It may be kept in a file.
public struct DefaultHistoryToken: HistoryToken {
  /// By the stores' identifiers: the number of the last save.
  public let tokenValue: [String: Int64]?
  /// The moment as the stores know it.
  let token: PersistentHistoryToken

  init(_ token: PersistentHistoryToken) {
    self.token = token
    tokenValue = Dictionary(
      uniqueKeysWithValues: token.commitNumbers.map {
        ($0.key.uuidString, Int64(truncatingIfNeeded: $0.value))
      })
  }

  /// Equal for equal tokens.
  public var id: Int { hashValue }

  /// Whether a moment is before another one. Of several stores that both know, the first that differs decides; one that only the later token knows makes it the later.
  public static func < (lhs: DefaultHistoryToken, rhs: DefaultHistoryToken) -> Bool {
    let (a, b) = (lhs.token.commitNumbers, rhs.token.commitNumbers)
    for store in Set(a.keys).union(b.keys).sorted(by: { $0.uuidString < $1.uuidString }) {
      let (left, right) = (a[store] ?? 0, b[store] ?? 0)
      if left != right { return left < right }
    }
    return false
  }

  public static func == (lhs: DefaultHistoryToken, rhs: DefaultHistoryToken) -> Bool {
    lhs.token.isEqual(rhs.token)
  }
  public func hash(into hasher: inout Hasher) { hasher.combine(token.hash) }

  /// Reads what `encode(to:)` has written.
  /// - Throws: `DecodingError` for anything else.
  public init(from decoder: any Decoder) throws { self.init(try PersistentHistoryToken(from: decoder)) }
  /// Writes the token as a text.
  /// - Throws: what the encoder throws.
  public func encode(to encoder: any Encoder) throws { try token.encode(to: encoder) }
}

/// What one save has changed in one store.
public struct DefaultHistoryTransaction: HistoryTransaction {
  /// When it was saved.
  public let timestamp: Date
  /// What was changed.
  public let changes: [HistoryChange]
  /// The moment after it: where the next fetch begins.
  public let token: DefaultHistoryToken
  /// Its number in its store.
  public let transactionIdentifier: Int64
  /// The store.
  public let storeIdentifier: String
  /// The program that saved.
  public let bundleIdentifier: String
  /// The process that saved.
  public let processIdentifier: String
  /// The `author` of the context.
  public let author: String?

  /// Its number in its store.
  public var id: Int64 { transactionIdentifier }

  init(_ transaction: PersistentHistoryTransaction, _ schema: Schema) {
    timestamp = transaction.timestamp
    token = DefaultHistoryToken(transaction.token)
    transactionIdentifier = transaction.transactionNumber
    storeIdentifier = transaction.storeID
    bundleIdentifier = transaction.bundleID
    processIdentifier = transaction.processID
    author = transaction.author
    let number = transaction.transactionNumber
    changes = (transaction.changes ?? []).compactMap { change in
      schema.type(forEntity: change.changedObjectID.entityName).map {
        Self.change(change, number, of: $0)
      }
    }
  }

  private static func change<Model: PersistentModel>(
    _ change: PersistentHistoryChange, _ transaction: Int64, of type: Model.Type
  ) -> HistoryChange {
    let identifier = PersistentIdentifier(change.changedObjectID)
    switch change.changeType {
    case .insert:
      return .insert(
        DefaultHistoryInsert<Model>(
          changeIdentifier: change.changeID, transactionIdentifier: transaction,
          changedPersistentIdentifier: identifier))
    case .update:
      return .update(
        DefaultHistoryUpdate<Model>(
          changeIdentifier: change.changeID, transactionIdentifier: transaction,
          changedPersistentIdentifier: identifier,
          updatedAttributes: Tombstones.keyPaths(change.updatedPropertyNames, of: type)))
    case .delete:
      return .delete(
        DefaultHistoryDelete<Model>(
          changeIdentifier: change.changeID, transactionIdentifier: transaction,
          changedPersistentIdentifier: identifier,
          tombstone: HistoryTombstone(Tombstones.values(change.tombstone, of: type))))
    }
  }

  public static func == (lhs: DefaultHistoryTransaction, rhs: DefaultHistoryTransaction) -> Bool {
    lhs.transactionIdentifier == rhs.transactionIdentifier && lhs.storeIdentifier == rhs.storeIdentifier
  }
  public func hash(into hasher: inout Hasher) {
    hasher.combine(transactionIdentifier)
    hasher.combine(storeIdentifier)
  }
}

/// A model that a save has stored.
public struct DefaultHistoryInsert<Model>: HistoryInsert where Model: PersistentModel {
  public let changeIdentifier: Int64
  public let transactionIdentifier: Int64
  public let changedPersistentIdentifier: PersistentIdentifier
}

/// A model that a save has changed.
public struct DefaultHistoryUpdate<Model>: HistoryUpdate where Model: PersistentModel {
  public let changeIdentifier: Int64
  public let transactionIdentifier: Int64
  public let changedPersistentIdentifier: PersistentIdentifier
  public let updatedAttributes: [any PartialKeyPath<Model> & Sendable]
}

/// A model that a save has deleted.
public struct DefaultHistoryDelete<Model>: HistoryDelete where Model: PersistentModel {
  public let changeIdentifier: Int64
  public let transactionIdentifier: Int64
  public let changedPersistentIdentifier: PersistentIdentifier
  public let tombstone: HistoryTombstone<Model>
}

/// The values of a deleted model that are preserved: those of attributes with `.preserveValueOnDeletion`.
public struct HistoryTombstone<Model>: Sequence, @unchecked Sendable where Model: PersistentModel {
  // @unchecked Sendable: values of attributes, which nobody changes.
  private let values: [(keyPath: PartialKeyPath<Model>, value: any Sendable)]

  init(_ values: [(PartialKeyPath<Model>, any Sendable)]) { self.values = values.map { ($0.0, $0.1) } }

  /// The value of a property; nil when it was nil, or is not preserved.
  public subscript(keyPath: PartialKeyPath<Model>) -> (any Sendable)? {
    values.first { $0.keyPath == keyPath }?.value
  }

  /// The values in the order of the properties.
  public func makeIterator() -> AnyIterator<Any> {
    var rest = values.makeIterator()
    return AnyIterator { rest.next().map { $0.value } }
  }
}

/// Names in a history as properties of a class.
private enum Tombstones {
  static func keyPaths<Model: PersistentModel>(_ names: Set<String>, of type: Model.Type)
    -> [any PartialKeyPath<Model> & Sendable]
  {
    let descriptor = ModelDescriptor.of(type)
    return descriptor.properties.compactMap { property in
      guard names.contains(property.name),
        let path = descriptor.keyPath(to: property) as? PartialKeyPath<Model>
      else { return nil }
      // Unsafe: key paths of stored properties capture nothing.
      return unsafeBitCast(path, to: (any PartialKeyPath<Model> & Sendable).self)
    }
  }

  static func values<Model: PersistentModel>(_ stored: [AnyHashable: Any]?, of type: Model.Type)
    -> [(PartialKeyPath<Model>, any Sendable)]
  {
    guard let stored else { return [] }
    let descriptor = ModelDescriptor.of(type)
    return descriptor.properties.compactMap { property in
      guard let path = descriptor.keyPath(to: property) as? PartialKeyPath<Model>,
        let value = stored[property.name], case .attribute(let storage) = property.kind
      else { return nil }
      do {
        let made: Any?
        if case .composite = storage.form {
          made = try storage.value(elements: value as? [String: Any])
        } else if let plain = AttributeValue(value, type: .undefined) {
          made = try storage.value(plain)
        } else {
          made = value
        }
        return made.map { (path, SentValue.sendable($0)) }
      } catch {
        report("\(type).\(property.name) of a deleted model cannot be decoded", error)
        return nil
      }
    }
  }
}

/// A value of an attribute as one that may be sent.
private enum SentValue {
  static func sendable(_ value: Any) -> any Sendable {
    func sendable<Value>(_ value: Value) -> any Sendable {
      // Unsafe: values of attributes were just decoded, and nobody else has them.
      unsafeBitCast(value as Any, to: (any Sendable).self)
    }
    return _openExistential(value, do: sendable)
  }
}
