import StrataCore
import Synchronization

/// What a class of models says of itself, read once for each class.
final class ModelDescriptor: @unchecked Sendable {
  // @unchecked Sendable: constants; key paths of models capture nothing.

  let type: any PersistentModel.Type
  let entityName: String
  /// What the superclass says, when it is a model.
  let superdescriptor: ModelDescriptor?
  /// All properties, inherited ones first. A property's ``PropertyDescriptor/index`` is its place here.
  let properties: [PropertyDescriptor]
  /// The properties that the class itself declares.
  let ownProperties: ArraySlice<PropertyDescriptor>
  /// How many of them drafts keep as texts, and how many perhaps as numbers.
  let textCount: Int
  let numberCount: Int
  /// What `#Unique` and `#Index` say in the class itself.
  let keys: [any SchemaProperty]

  /// By the addresses of key paths, which accessors look up.
  private let places: KeyPathPlaces
  private let propertiesByName: [String: PropertyDescriptor]
  /// The key paths from the class itself, inherited properties included, in the order of ``properties``.
  private let keyPaths: [AnyKeyPath]
  /// By the key paths from the class itself and from the classes that declare the properties.
  private let propertiesByKeyPath: [AnyKeyPath: PropertyDescriptor]
  /// Key paths to properties of composite values, and what they are called: `address.city`.
  private let elementPaths: [AnyKeyPath: String]
  private let elementKeyPaths: [String: AnyKeyPath]

  private static let known = Mutex<[ObjectIdentifier: ModelDescriptor]>([:])
  /// Descriptors that were asked for, by some bits of the addresses of their classes. Unsafe: `known` keeps all of them for good.
  private static let recent = RecentDescriptors()

  /// The descriptor of a class. The first call for a class reads its metadata, which evaluates the initial values of its properties.
  static func of(_ type: any PersistentModel.Type) -> ModelDescriptor {
    let identifier = ObjectIdentifier(type)
    if let found = recent[identifier] { return found }
    let found = known.withLock { $0[identifier] } ?? make(type)
    recent.set(found)
    return found
  }

  private static func make(_ type: any PersistentModel.Type) -> ModelDescriptor {
    // Not under the lock: initial values are code of the application.
    let made = ModelDescriptor(type)
    return known.withLock { known in
      if let found = known[ObjectIdentifier(type)] { return found }
      known[ObjectIdentifier(type)] = made
      return made
    }
  }

  /// A place for each of some classes, which descriptors take turns at.
  private final class RecentDescriptors: @unchecked Sendable {
    // @unchecked Sendable: each place is one atomic word.
    private static let count = 128
    private let places: UnsafeMutablePointer<Atomic<UInt>>

    init() {
      places = .allocate(capacity: Self.count)
      for place in 0..<Self.count { (places + place).initialize(to: Atomic(0)) }
    }

    private static func place(_ type: ObjectIdentifier) -> Int {
      let address = UInt(bitPattern: type) >> 4
      return Int(truncatingIfNeeded: address ^ (address >> 7)) & (count - 1)
    }

    @inline(__always)
    subscript(_ type: ObjectIdentifier) -> ModelDescriptor? {
      let word = places[Self.place(type)].load(ordering: .acquiring)
      guard let pointer = UnsafeRawPointer(bitPattern: word) else { return nil }
      let found = Unmanaged<ModelDescriptor>.fromOpaque(pointer).takeUnretainedValue()
      return ObjectIdentifier(found.type) == type ? found : nil
    }

    func set(_ descriptor: ModelDescriptor) {
      let word = UInt(bitPattern: Unmanaged.passUnretained(descriptor).toOpaque())
      places[Self.place(ObjectIdentifier(descriptor.type))].store(word, ordering: .releasing)
    }
  }

  private init(_ type: any PersistentModel.Type) {
    self.type = type
    entityName = Schema.name(of: type)
    let parent = (_getSuperclass(type) as? any PersistentModel.Type).map { ModelDescriptor.of($0) }
    superdescriptor = parent
    let inherited = parent?.properties ?? []
    let inheritedEntries = parent.map { $0.type.schemaMetadata.count } ?? 0
    let entries = type.schemaMetadata
    var properties = inherited
    var keys: [any SchemaProperty] = []
    for entry in entries.dropFirst(inheritedEntries) {
      if let key = entry.key {
        keys.append(key)
      } else {
        properties.append(PropertyDescriptor(entry, index: properties.count))
      }
    }
    self.properties = properties
    self.keys = keys
    let told = entries.filter { $0.key == nil }.map(\.keypath)
    // A class whose metadata is written by hand may tell of its own properties alone.
    let keyPaths = told.count == properties.count ? told : properties.map(\.keyPath)
    self.keyPaths = keyPaths
    textCount = properties.count { Swift.type(of: $0.keyPath).valueType == String.self }
    numberCount = properties.count - textCount
    ownProperties = properties[inherited.count...]
    places = KeyPathPlaces(properties: properties.count)
    for property in properties { places.remember(property.keyPath, property.index) }
    propertiesByName = Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
    propertiesByKeyPath = Dictionary(
      zip(properties.map(\.keyPath) + keyPaths, properties + properties).map { ($0, $1) },
      uniquingKeysWith: { _, last in last })
    var elements: [AnyKeyPath: String] = [:]
    var elementKeyPaths: [String: AnyKeyPath] = [:]
    for (property, keyPath) in zip(properties, keyPaths) {
      guard case .attribute(let storage) = property.kind else { continue }
      for (inner, path) in storage.elementPaths {
        let name = "\(property.name).\(path)"
        if let declared = property.keyPath.appending(path: inner) { elements[declared] = name }
        guard let own = keyPath.appending(path: inner) else { continue }
        elements[own] = name
        elementKeyPaths[name] = own
      }
    }
    elementPaths = elements
    self.elementKeyPaths = elementKeyPaths
  }

  // MARK: Looking up

  /// The property that a key path of the class, or of one that it inherits from, leads to; nil for one that is not known to lead to one.
  func property(for keyPath: AnyKeyPath) -> PropertyDescriptor? {
    propertiesByKeyPath[keyPath]
  }

  /// The key path to one of ``properties`` from the class itself: equal to the one that is written in the source.
  func keyPath(to property: PropertyDescriptor) -> AnyKeyPath { keyPaths[property.index] }

  /// The property of that name.
  func property(named name: String) -> PropertyDescriptor? { propertiesByName[name] }

  /// The place among ``properties`` of the one that a key path leads to; -1 for one that is not known to lead to one.
  @inline(__always)
  func place(of keyPath: AnyKeyPath) -> Int {
    let place = places[keyPath]
    return place >= 0 ? place : findPlace(of: keyPath)
  }

  @inline(never)
  private func findPlace(of keyPath: AnyKeyPath) -> Int {
    guard let property = property(for: keyPath) else { return -1 }
    places.remember(keyPath, property.index)
    return property.index
  }

  /// From now on `keyPath` leads to the property: of inherited properties there are key paths that the class has not declared.
  func remember(_ keyPath: AnyKeyPath, as property: PropertyDescriptor) {
    places.remember(keyPath, property.index)
  }

  /// What a key path into a composite value is called: `address.city`; nil for every other.
  func elementPath(for keyPath: AnyKeyPath) -> String? { elementPaths[keyPath] }

  /// What a key path to a property, or into a composite value, is called.
  func path(for keyPath: AnyKeyPath) -> String? { property(for: keyPath)?.name ?? elementPath(for: keyPath) }

  /// The key path from the class itself to what is called so.
  func keyPath(at path: String) -> AnyKeyPath? {
    property(named: path).map { keyPath(to: $0) } ?? elementKeyPaths[path]
  }
}

/// One property of a model.
final class PropertyDescriptor: @unchecked Sendable {
  // @unchecked Sendable: constants.

  enum Kind {
    case attribute(AttributeStorage)
    case toOne(any PersistentModel.Type, isOptional: Bool)
    case toMany(any PersistentModel.Type, isOptional: Bool)
  }
  let name: String
  /// The key path from the class that declares the property.
  let keyPath: AnyKeyPath
  /// The place among all properties of the class.
  let index: Int
  let kind: Kind
  /// What a new object starts with, as it was when the class was first read; nil for none.
  let defaultValue: Any?
  /// What `@Attribute` says.
  let attribute: Schema.Attribute?
  /// What `@Relationship` says.
  let relationship: Schema.Relationship?

  init(_ entry: Schema.PropertyMetadata, index: Int) {
    name = entry.name
    keyPath = entry.keypath
    self.index = index
    defaultValue = entry.defaultValue
    attribute = entry.metadata as? Schema.Attribute
    relationship = entry.metadata as? Schema.Relationship
    let type = Swift.type(of: entry.keypath).valueType
    let isOptional = type is any OptionalType.Type
    if attribute?.transformerName == nil, let model = toOneType(type) {
      kind = .toOne(model, isOptional: isOptional)
    } else if attribute?.transformerName == nil, let model = toManyType(type) {
      kind = .toMany(model, isOptional: isOptional)
    } else {
      kind = .attribute(AttributeStorage.of(type, options: attribute?.options ?? []))
    }
  }
}
