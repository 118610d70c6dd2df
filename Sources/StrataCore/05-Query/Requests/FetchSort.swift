import Foundation

/// One sort key of a fetch request.
///
///     FetchSort("title")                  // by name
///     FetchSort(\Book.title, .reverse)    // by key path, which the compiler checks
///     FetchSort("title", comparator: .localizedStandard)
public struct FetchSort: Sendable, Hashable {
  /// The attribute to sort by. Of a sort key that was made with a Swift key path: that key path as text, until a request is executed.
  public var key: String { didSet { property = nil } }
  /// Whether small values come first. Nil is the smallest value.
  public var ascending: Bool
  /// How texts are ordered. Another order than that of their bytes needs an attribute that is a text, and no index has it.
  public var comparator: TextCollation
  /// What names the attribute when the model is known.
  private var property: PropertyKey?

  /// Sorts by the attribute `key`.
  ///
  /// - Parameters:
  ///   - key: The name of a stored attribute, perhaps behind to-one relationships: `author.name`. `objectID` and `self` are the order of primary keys. Keys of
  ///     values that have the attribute's order may follow: `page.absoluteString`, `born.timeIntervalSinceReferenceDate`, `number.UUIDString`.
  ///   - ascending: Whether the smallest value comes first.
  ///   - comparator: How texts are ordered; a request that asks it of an attribute that is no text fails with ``FetchError``.
  public init(_ key: String, ascending: Bool = true, comparator: TextCollation = .bytes) {
    self.key = key
    self.ascending = ascending
    self.comparator = comparator
  }

  init(_ property: PropertyKey, ascending: Bool, comparator: TextCollation = .bytes) {
    key = "\(property.keyPath)"
    self.ascending = ascending
    self.comparator = comparator
    self.property = property
  }

  /// The same with the name of the attribute, for a request about `entity`.
  ///
  /// - Throws: `PredicateTranslationError` for a key path that leads to no property, or begins at another class.
  func named(_ entity: EntitySchema, _ schema: Schema) throws -> FetchSort {
    guard let property else { return self }
    return FetchSort(
      try property.name(property.keyPath, entity, schema), ascending: ascending, comparator: comparator)
  }

  /// The same by the attribute itself, where the key is one of its value that has its order: `source` for `source.absoluteString`.
  func byAttribute(_ entity: EntitySchema, _ schema: Schema) -> FetchSort {
    guard key.utf8.contains(UInt8(ascii: ".")) else { return self }
    let keys = key.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
    guard let last = keys.last, ValueKeys.contains(last),
      let path = try? ResolvedPath(keys.dropLast(), from: entity, schema: schema),
      let attribute = path.attribute, ValueKeys.keepsOrder(last, of: attribute.type)
    else { return self }
    return FetchSort(path.words, ascending: ascending, comparator: comparator)
  }

  /// The key path that it was made with.
  var keyPath: AnyKeyPath? { property?.keyPath }
}

/// A Swift key path that stands for the name of a property, which is known when the model is.
struct PropertyKey: Sendable, Hashable {
  let keyPath: any AnyKeyPath & Sendable
  /// Finds the name: what does is on a higher floor.
  let name: @Sendable (AnyKeyPath, EntitySchema, Schema) throws -> String

  static func == (left: PropertyKey, right: PropertyKey) -> Bool { left.keyPath == right.keyPath }
  func hash(into hasher: inout Hasher) { hasher.combine(keyPath) }
}

extension FetchRequest {
  /// The request with names in place of key paths, and predicates of the tree in place of Foundation's.
  ///
  /// - Throws: `PredicateTranslationError` for what no store can look up; `FetchError` for an unknown entity.
  func spelledOut(_ schema: Schema) throws -> FetchRequest {
    guard
      predicate?.holdsFoundation == true || havingPredicate?.holdsFoundation == true
        || sortDescriptors.contains(where: { $0.keyPath != nil })
    else { return self }
    guard let entity = schema.entity(named: entityName) else {
      throw FetchError(reason: .unknownEntity, entityName: entityName, key: nil)
    }
    var request = self
    request.predicate = try predicate?.spelledOut(entity, schema)
    request.havingPredicate = try havingPredicate?.spelledOut(entity, schema)
    request.sortDescriptors = try sortDescriptors.map { try $0.named(entity, schema) }
    return request
  }
}
