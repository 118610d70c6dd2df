import Foundation

/// An index of an entity. Core Data's `NSFetchIndexDescription`. Not part of version hashes (rule 346).
///
/// Mutable until the model is taken into use (rule 298). Equal are indexes of one name, with equal elements and the same predicate, of whatever entity: ``isEqual(_:)``.
public final class FetchIndexDescription: NSObject, @unchecked Sendable {
  // @unchecked Sendable: see PropertyDescription.

  /// The name, unique among the entity's indexes.
  public var name: String { willSet { requireMutable("name") } }
  /// The properties in the order in which the index sorts by them.
  public var elements: [FetchIndexElementDescription] {
    willSet { requireMutable("elements") }
    didSet { adopt() }
  }
  /// The rows that the index holds; nil for all of them. Set by `partialIndexPredicate`.
  package var condition: IndexCondition? { willSet { requireMutable("partialIndexPredicate") } }
  /// The entity that declares the index; nil until it belongs to one.
  public internal(set) var entity: EntityDescription? {
    get { entityReference?.target }
    set { entityReference = newValue?.ownReference }
  }
  private var entityReference: BackReference<EntityDescription>?

  var isFrozen = false

  /// An index over `elements`.
  public init(name: String, elements: [FetchIndexElementDescription]? = nil) {
    self.name = name
    self.elements = elements ?? []
    super.init()
    adopt()
  }

  /// An index over attributes by name, ascending.
  public convenience init(name: String, attributes: [String]) {
    self.init(name: name, elements: attributes.map { FetchIndexElementDescription(propertyName: $0) })
  }

  /// Whether `object` is an index of the same name, with equal elements in the same order and the same predicate. Which entity has it does not count.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FetchIndexDescription else { return false }
    return self === other
      || name == other.name && elements == other.elements && condition == other.condition
  }

  /// That of the name: an index is not to be renamed while it is in a set.
  public override var hash: Int { name.hashValue }

  private func adopt() {
    for element in elements { element.indexDescription = self }
  }

  /// Whether any element is a dimension of space.
  package var isSpatial: Bool { elements.contains { $0.collationType == .rTree } }

  func requireMutable(_ property: String) {
    guard !isFrozen else {
      trap(
        """
        index \(entity?.name.map { $0 + "." } ?? "")\(name).\(property) was set after the model was \
        taken into use; change the model before a coordinator uses it, or a copy of it
        """)
    }
  }
}

/// How an index element is stored.
public enum FetchIndexElementType: UInt, Sendable {
  /// A sorted tree.
  case binary = 0
  /// One dimension of a spatial index, a number or a date. Each is kept as an ordered index of its own, called `index.property`: a
  /// fetch of a box uses one of them and tests the other dimensions row by row.
  case rTree = 1
}

/// One property of an index.
///
/// Mutable until the model is taken into use (rule 298). Equal are elements over properties of one name, stored in the same way and in the same direction, in whatever index:
/// ``isEqual(_:)``.
public final class FetchIndexElementDescription: NSObject, @unchecked Sendable {
  // @unchecked Sendable: see PropertyDescription.

  /// The name of the indexed property.
  public let propertyName: String
  /// How the element is stored.
  public var collationType: FetchIndexElementType {
    willSet { indexDescription?.requireMutable("\(propertyName).collationType") }
  }
  /// The direction in which the index sorts this property.
  public var isAscending: Bool {
    willSet { indexDescription?.requireMutable("\(propertyName).isAscending") }
  }
  /// The index the element belongs to.
  public internal(set) weak var indexDescription: FetchIndexDescription?

  /// An element over `property`, which is looked up by name.
  public convenience init(
    property: PropertyDescription, collationType: FetchIndexElementType = .binary, isAscending: Bool = true
  ) {
    self.init(propertyName: property.name, collationType: collationType, isAscending: isAscending)
  }

  /// An element over the property called `propertyName`.
  public init(
    propertyName: String, collationType: FetchIndexElementType = .binary, isAscending: Bool = true
  ) {
    self.propertyName = propertyName
    self.collationType = collationType
    self.isAscending = isAscending
    super.init()
  }

  /// Whether `object` is an element over a property of the same name, stored in the same way and in the same direction. Which index has it does not count.
  public override func isEqual(_ object: Any?) -> Bool {
    guard let other = object as? FetchIndexElementDescription else { return false }
    return self === other
      || propertyName == other.propertyName && collationType == other.collationType
        && isAscending == other.isAscending
  }

  /// That of the property's name.
  public override var hash: Int { propertyName.hashValue }

  /// The indexed property; nil while the entity has none of that name.
  public var property: PropertyDescription? {
    indexDescription?.entity?.propertiesByName[propertyName]
  }
}

/// Which rows a partial index holds, as text: what it means is for the floor of queries.
package struct IndexCondition: Sendable, Hashable, Codable {
  /// The predicate as a format string, from which an equal one is read again.
  package var text: String
  /// The attributes that it looks at, by name, sorted.
  package var keys: [String]
  /// Why no index can have such a predicate: what follows on “has a predicate that”. Never stored.
  package var refusal: String?

  package init(text: String, keys: [String], refusal: String? = nil) {
    self.text = text
    self.keys = keys
    self.refusal = refusal
  }

  private enum CodingKeys: String, CodingKey { case text, keys }

  /// What the signature of an index says of it. Another one than of earlier versions where these found other rows: an index of theirs is built anew.
  package var signature: String { "where \(text)\n" + (looksForNothing ? "parts\n" : "") }

  /// Whether an empty text may be looked for in others: none has it, but every text had it once. Marks alone are nothing without diacritics.
  /// What is written within quotes may look like it, which costs one more pass over the rows.
  private var looksForNothing: Bool {
    for word in [" BEGINSWITH", " CONTAINS", " ENDSWITH"] {
      var rest = text[...]
      while let place = rest.range(of: word) {
        rest = rest[place.upperBound...]
        let options = rest.first == "[" ? rest.prefix { $0 != "]" } : ""
        let operand = rest.dropFirst(options.isEmpty ? 0 : options.count + 1)
        if options.contains("d") || operand.hasPrefix(" \"\"") { return true }
      }
    }
    return false
  }
}
