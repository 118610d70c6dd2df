import Foundation
import StrataCore

/// Makes a model of the one that a store keeps in its cache (`Z_MODELCACHE`): a keyed archive, packed by DEFLATE.
///
/// What the archive has no form of here is left out, and said: fetched properties, predicates, indexes, derivations. What rows need is all there.
struct ArchivedModel {
  let model: ManagedObjectModel
  /// What was left out, one sentence each.
  let remarks: [String]
  /// Attributes of which the archive does not say whether large values lie in files: `Entity.path`.
  let unclearAttributes: Set<String>

  /// - Parameter columns: By table, its columns: where the archive does not say whether an attribute is transient or a relationship is ordered,
  ///   they do.
  /// - Throws: `AppleStoreError` `.noModel`.
  init(packed: Data, columns: [String: Set<String>]) throws {
    do {
      var reader = ModelArchiveReader(try KeyedArchive(try Inflate.data(packed)), columns)
      model = try reader.read()
      remarks = reader.remarks
      unclearAttributes = reader.unclearAttributes
    } catch let error as AppleStoreError {
      throw error
    } catch {
      throw AppleStoreError(
        .noModel,
        "The model in the store's cache cannot be read: \(error). Name the model that the store is of, the .xcdatamodeld."
      )
    }
  }
}

private struct ModelArchiveReader {
  struct Fault: Error, CustomStringConvertible { let description: String }

  private let archive: KeyedArchive
  private let columns: [String: Set<String>]
  private(set) var remarks: [String] = []
  private(set) var unclearAttributes: Set<String> = []
  private var leftOut: [String: Int] = [:]
  private var entities: [KeyedArchive.Item: EntityDescription] = [:]
  private var byName: [String: EntityDescription] = [:]
  private var order: [(item: KeyedArchive.Item, entity: EntityDescription)] = []
  private var relationships: [(item: KeyedArchive.Item, relationship: RelationshipDescription)] = []
  private var propertiesLeft = 100_000

  private static let mostEntities = 5_000

  init(_ archive: KeyedArchive, _ columns: [String: Set<String>]) {
    self.archive = archive
    self.columns = columns
  }

  mutating func read() throws -> ManagedObjectModel {
    let root = archive.rootItem
    guard archive.className(root) == "NSManagedObjectModel" else {
      throw Fault(description: "its root is no model")
    }
    let lists = ["NSEntities"].compactMap { archive.item(root, $0) } + items(of: root)
    let list = lists.first { list in
      archive.pairs(list).contains { archive.className($0.value) == "NSEntityDescription" }
    }
    guard let list else { throw Fault(description: "it has no entities") }
    for (name, item) in archive.pairs(list) { try add(item, name) }
    try linkSubentities()
    for (item, entity) in order { try readProperties(item, entity) }
    try linkRelationships()
    for (item, entity) in order { readConstraints(item, entity) }
    let model = ManagedObjectModel(entities: order.map(\.entity))
    if let identifiers = archive.item(root, "NSVersionIdentifiers") {
      model.versionIdentifiers = Set(archive.members(identifiers).compactMap { archive.plain($0)?.string })
    }
    for (what, count) in leftOut.sorted(by: { $0.key < $1.key }) {
      remarks.append("Left out of the model in the store's cache: \(count) \(what).")
    }
    return model
  }

  private mutating func add(_ item: KeyedArchive.Item, _ name: String) throws {
    guard archive.className(item) == "NSEntityDescription" else {
      throw Fault(description: "“\(name.prefix(100))” is no entity")
    }
    guard order.count < Self.mostEntities else { throw Fault(description: "it has too many entities") }
    let own = archive.string(item, "NSEntityName") ?? name
    let entity = EntityDescription(own)
    entity.isAbstract = flag(item, "Abstract") ?? false
    if let name = archive.string(item, "NSClassNameForEntity"), !["", "NSManagedObject"].contains(name) {
      entity.managedObjectClassName = name
    }
    entity.versionHashModifier = archive.string(item, "NSVersionHashModifier")
    if let identifier = archive.string(item, "NSRenamingIdentifier"), identifier != own {
      entity.renamingIdentifier = identifier
    }
    guard byName.updateValue(entity, forKey: own) == nil else {
      throw Fault(description: "two entities are called \(own.prefix(100))")
    }
    entities[item] = entity
    order.append((item, entity))
  }

  private mutating func linkSubentities() throws {
    var parents: [ObjectIdentifier: EntityDescription] = [:]
    var children: [ObjectIdentifier: [EntityDescription]] = [:]
    func link(_ child: EntityDescription, below parent: EntityDescription) throws {
      if let known = parents[ObjectIdentifier(child)] {
        if known !== parent { throw Fault(description: "an entity has two superentities") }
        return
      }
      var ancestor: EntityDescription? = parent
      while let current = ancestor {
        if current === child { throw Fault(description: "an entity inherits from itself") }
        ancestor = parents[ObjectIdentifier(current)]
      }
      parents[ObjectIdentifier(child)] = parent
      children[ObjectIdentifier(parent), default: []].append(child)
    }
    for (item, entity) in order {
      if let list = archive.item(item, "NSSubentities") {
        let items = archive.pairs(list).map(\.value) + archive.members(list)
        for child in items.compactMap({ entities[$0] }) { try link(child, below: entity) }
      }
      if let parent = archive.item(item, "NSSuperentity").flatMap({ entities[$0] }) {
        try link(entity, below: parent)
      }
    }
    for (_, entity) in order {
      guard let own = children[ObjectIdentifier(entity)] else { continue }
      var levels = 0
      var ancestor = parents[ObjectIdentifier(entity)]
      while let current = ancestor {
        levels += 1
        if levels > 100 { throw Fault(description: "it has too many superentities above each other") }
        ancestor = parents[ObjectIdentifier(current)]
      }
      entity.subentities = own
    }
  }

  // MARK: Properties

  private mutating func readProperties(_ item: KeyedArchive.Item, _ entity: EntityDescription) throws {
    guard let list = archive.item(item, "NSProperties") else { return }
    var inherited: Set<String> = []
    var ancestor = archive.item(item, "NSSuperentity")
    while let current = ancestor, inherited.count < 100_000 {
      if let list = archive.item(current, "NSProperties") {
        inherited.formUnion(archive.pairs(list).map(\.key))
      }
      // Entities that inherit from themselves were refused.
      ancestor = entities[current] == nil ? nil : archive.item(current, "NSSuperentity")
    }
    var properties: [PropertyDescription] = []
    for (name, property) in archive.pairs(list) where !inherited.contains(name) {
      if let made = try makeProperty(property, name, of: entity) { properties.append(made) }
    }
    entity.properties = properties.sorted { $0.name < $1.name }
  }

  private mutating func makeProperty(
    _ item: KeyedArchive.Item, _ key: String, of entity: EntityDescription
  ) throws -> PropertyDescription? {
    guard propertiesLeft > 0 else { throw Fault(description: "it has too many properties") }
    propertiesLeft -= 1
    let name = archive.string(item, "NSPropertyName") ?? key
    let property: PropertyDescription
    switch kind(item) {
    case "NSAttributeDescription":
      property = try makeAttribute(item, name, "\(entity.name ?? "").\(name)", level: 0)
      if archive.className(item) == "NSDerivedAttributeDescription" {
        leftOut["derivations, whose values are kept", default: 0] += 1
      }
    case "NSRelationshipDescription":
      let relationship = RelationshipDescription()
      relationship.name = name
      relationship.minCount = try count(item, "NSMinCount")
      relationship.maxCount = try count(item, "NSMaxCount")
      relationship.deleteRule =
        number(item, "NSDeleteRule").flatMap { UInt(exactly: $0) }.flatMap { DeleteRule(rawValue: $0) }
        ?? .nullify
      relationship.isOrdered = flag(item, "Ordered") ?? false
      relationships.append((item, relationship))
      property = relationship
    case "NSFetchedPropertyDescription":
      leftOut["fetched properties", default: 0] += 1
      return nil
    default:
      let type = archive.className(item)?.prefix(100) ?? "?"
      throw Fault(description: "the property \(name.prefix(100)) is of the class \(type)")
    }
    property.isOptional = flag(item, "Optional") ?? true
    property.isTransient = flag(item, "Transient") ?? isWithoutColumn(property, entity)
    property.versionHashModifier = archive.string(item, "NSVersionHashModifier")
    if let identifier = archive.string(item, "NSRenamingIdentifier"), identifier != name {
      property.renamingIdentifier = identifier
    }
    if let rules = archive.item(item, "NSValidationPredicates"), !archive.members(rules).isEmpty {
      leftOut["validation rules", default: 0] += archive.members(rules).count
    }
    return property
  }

  /// Where the archive does not say whether an attribute is transient, the table does.
  private func isWithoutColumn(_ property: PropertyDescription, _ entity: EntityDescription) -> Bool {
    guard property is AttributeDescription, !(property is CompositeAttributeDescription) else { return false }
    var root = entity
    while let parent = root.superentity { root = parent }
    guard let known = columns[AppleNames.table(root.name ?? "")] else { return false }
    return !known.contains(AppleNames.column(property.name))
  }

  private mutating func makeAttribute(
    _ item: KeyedArchive.Item, _ name: String, _ place: String, level: Int
  ) throws -> AttributeDescription {
    guard level < 16 else { throw Fault(description: "composite attributes are nested too deeply") }
    let raw = number(item, "NSAttributeType") ?? 0
    guard let type = Int16(exactly: raw).flatMap({ AttributeType(rawValue: $0) }) else {
      throw Fault(description: "\(place.prefix(200)) is of the unknown type \(raw)")
    }
    if type == .composite {
      // How they are called there is not known: it is the list of attributes.
      let lists = items(of: item).map { archive.pairs($0).map(\.value) + archive.members($0) }
      let elements = lists.first { list in
        !list.isEmpty && list.allSatisfy { kind($0) == "NSAttributeDescription" }
      }
      guard let elements else {
        throw Fault(description: "the elements of \(place.prefix(200)) cannot be read")
      }
      let made = try elements.map { element in
        guard propertiesLeft > 0 else { throw Fault(description: "it has too many properties") }
        propertiesLeft -= 1
        guard let own = archive.string(element, "NSPropertyName") else {
          throw Fault(description: "an element of \(place.prefix(200)) has no name")
        }
        let attribute = try makeAttribute(element, own, "\(place).\(own)", level: level + 1)
        attribute.isOptional = flag(element, "Optional") ?? true
        return attribute
      }
      return CompositeAttributeDescription(name, elements: made)
    }
    let attribute = AttributeDescription(name, type)
    if type == .transformable { readTransformer(item, attribute, place) }
    let isExternal = flag(item, "External")
    if isExternal == nil, type == .binaryData || type == .transformable { unclearAttributes.insert(place) }
    attribute.allowsExternalBinaryDataStorage = isExternal ?? false
    attribute.preservesValueInHistoryOnDeletion = flag(item, "PreservesValue") ?? false
    if let value = defaultValue(item, type) {
      if AttributeValue(value, type: type) != nil {
        attribute.defaultValue = value
      } else {
        leftOut["default values that do not fit", default: 0] += 1
      }
    }
    return attribute
  }

  private mutating func readTransformer(
    _ item: KeyedArchive.Item, _ attribute: AttributeDescription, _ place: String
  ) {
    attribute.attributeValueClassName = archive.string(item, "NSAttributeValueClassName")
    guard let name = archive.string(item, "NSValueTransformerName"), !name.isEmpty else { return }
    // These would make objects of whatever class the bytes ask for, and a model that names them is refused.
    if name.contains("UnarchiveFromData"), !name.contains("Secure") {
      remarks.append(
        "\(place) is transformed by \(name), which is not named in the new model; its bytes are kept.")
    } else {
      attribute.valueTransformerName = name
    }
  }

  private mutating func defaultValue(_ item: KeyedArchive.Item, _ type: AttributeType) -> Any? {
    guard let value = archive.value(item, "NSDefaultValue") else { return nil }
    switch value {
    case .boolean(let value): return type == .boolean ? value : (value ? 1 : 0) as Int64
    case .integer(let value):
      switch type {
      case .boolean: return value != 0
      case .double: return Double(value)
      case .float: return Float(value)
      case .decimal: return Decimal(value)
      case .date: return Date(timeIntervalSinceReferenceDate: Double(value))
      default: return value
      }
    case .real(let value):
      switch type {
      case .float: return Float(value)
      case .decimal: return AppleValue.decimal(value)
      case .date: return Date(timeIntervalSinceReferenceDate: value)
      case .integer16, .integer32, .integer64: return Int64(exactly: value)
      default: return value
      }
    case .date(let value): return Date(timeIntervalSinceReferenceDate: value)
    case .string(let value):
      switch type {
      case .uri: return URL(string: value)
      case .uuid: return UUID(uuidString: value)
      case .decimal: return AppleValue.decimal(value)
      default: return value
      }
    case .data(let value): return value
    default: break
    }
    guard let object = archive.item(item, "NSDefaultValue") else { return nil }
    switch archive.className(object) {
    case "NSDate":
      if case .real(let time)? = archive.value(object, "NS.time") {
        return Date(timeIntervalSinceReferenceDate: time)
      }
    case "NSData", "NSMutableData": return archive.value(object, "NS.data")?.data
    case "NSString", "NSMutableString": return archive.string(item, "NSDefaultValue")
    case "NSUUID":
      if let bytes = archive.value(object, "NS.uuidbytes")?.data { return AppleValue.uuid(bytes) }
    case "NSURL": return archive.string(object, "NS.relative").flatMap { URL(string: $0) }
    default: break
    }
    leftOut["default values of the class \(archive.className(object) ?? "?")", default: 0] += 1
    return nil
  }

  private mutating func linkRelationships() throws {
    for (item, relationship) in relationships {
      let place = "\(relationship.entity?.name ?? "").\(relationship.name)"
      let destination =
        archive.item(item, "NSDestinationEntity").flatMap { entities[$0] }
        ?? (archive.string(item, "_NSDestinationEntityName")
        ?? archive.string(item, "NSDestinationEntityName"))
        .flatMap { byName[$0] }
      guard let destination else {
        throw Fault(description: "\(place.prefix(200)) leads to no entity")
      }
      relationship.destinationEntity = destination
      let inverse =
        archive.item(item, "NSInverseRelationship").flatMap { archive.string($0, "NSPropertyName") }
        ?? archive.string(item, "_NSInverseRelationshipName")
        ?? archive.string(item, "NSInverseRelationshipName")
      if let inverse {
        guard let other = destination.relationshipsByName[inverse] else {
          throw Fault(description: "\(place.prefix(200)) has an inverse that is not there")
        }
        relationship.inverseRelationship = other
      }
    }
    for (item, relationship) in relationships where relationship.isToMany && flag(item, "Ordered") == nil {
      relationship.isOrdered = hasOrder(relationship)
    }
  }

  /// Where the archive does not say whether a relationship is ordered, the columns do.
  private func hasOrder(_ relationship: RelationshipDescription) -> Bool {
    guard let inverse = relationship.inverseRelationship, !inverse.isToMany,
      var root = relationship.destinationEntity
    else { return false }
    while let parent = root.superentity { root = parent }
    return columns[AppleNames.table(root.name ?? "")]?.contains(AppleNames.order(inverse.name)) ?? false
  }

  private mutating func readConstraints(_ item: KeyedArchive.Item, _ entity: EntityDescription) {
    guard let list = archive.item(item, "NSUniquenessConstraints") else { return }
    var constraints: [[String]] = []
    for constraint in archive.members(list) {
      let names = archive.members(constraint).map { member in
        archive.plain(member)?.string ?? archive.string(member, "NSPropertyName")
      }
      let attributes = names.compactMap { $0 }
      if attributes.isEmpty || attributes.count < names.count
        || attributes.contains(where: {
          entity.attributesByName[$0] == nil && entity.relationshipsByName[$0]?.isToMany != false
        })
      {
        leftOut["uniqueness constraints", default: 0] += 1
      } else {
        constraints.append(attributes)
      }
    }
    entity.uniquenessConstraints = constraints
  }

  // MARK: Keys

  /// The objects that an object has under its keys, in the order of these.
  private func items(of owner: KeyedArchive.Item) -> [KeyedArchive.Item] {
    archive.keys(owner).filter { $0 != "$class" }.sorted().compactMap { archive.item(owner, $0) }
  }

  /// What a property is: its class, or for a class that is not known, what it has.
  private func kind(_ item: KeyedArchive.Item) -> String? {
    let name = archive.className(item)
    switch name {
    case "NSDerivedAttributeDescription", "NSCompositeAttributeDescription": return "NSAttributeDescription"
    case "NSAttributeDescription", "NSRelationshipDescription", "NSFetchedPropertyDescription": return name
    default:
      let keys = archive.keys(item)
      if keys.contains("NSAttributeType") { return "NSAttributeDescription" }
      return keys.contains("NSDestinationEntity") && keys.contains("NSDeleteRule")
        ? "NSRelationshipDescription" : name
    }
  }

  private func number(_ item: KeyedArchive.Item, _ key: String) -> Int64? {
    archive.value(item, key)?.integer
  }

  private func count(_ item: KeyedArchive.Item, _ key: String) throws -> Int {
    guard let value = number(item, key) else { return 0 }
    guard let count = Int(exactly: value), (0...Int(Int32.max)).contains(count) else {
      throw Fault(description: "a relationship has a count that is none")
    }
    return count
  }

  /// A switch under a key with that word in it; nil when there is none.
  private func flag(_ item: KeyedArchive.Item, _ word: String) -> Bool? {
    for key in ["NSIs\(word)", "NS\(word)"] { if let flag = archive.value(item, key)?.flag { return flag } }
    for key in archive.keys(item).sorted() where key.contains(word) {
      if let flag = archive.value(item, key)?.flag { return flag }
    }
    return nil
  }
}
