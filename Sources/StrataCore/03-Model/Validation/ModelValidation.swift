/// Finds everything that is wrong with a model, one sentence each.
///
/// Everything the compiler and the store rely on is checked here; what is not supported yet is a sentence too.
struct ModelValidation {
  private let model: ManagedObjectModel
  private let members: Set<ObjectIdentifier>
  private var sentences: [String] = []

  static func sentences(of model: ManagedObjectModel) -> [String] {
    var validation = ModelValidation(model: model)
    validation.run()
    return validation.sentences
  }

  /// What is wrong with an index that is not the model's own.
  static func sentences(
    of index: FetchIndexDescription, for entity: EntityDescription, in model: ManagedObjectModel
  ) -> [String] {
    var validation = ModelValidation(model: model)
    validation.checkIndex(index, of: entity)
    return validation.sentences
  }

  private init(model: ManagedObjectModel) {
    self.model = model
    members = Set(model.entities.map { ObjectIdentifier($0) })
  }

  private mutating func run() {
    checkEntityNames()
    checkConfigurations()
    for entity in model.entities where checkInheritance(of: entity) {
      checkProperties(of: entity)
      checkIndexes(of: entity)
      checkConstraints(of: entity)
      checkClass(of: entity)
      checkUserInfo(entity.userInfo, of: "Entity \(label(entity))")
    }
  }

  // MARK: Model

  private mutating func checkEntityNames() {
    var seen = Set<String>()
    for entity in model.entities {
      let name = entity.name ?? ""
      if name.isEmpty {
        sentences.append("An entity has no name.")
      } else {
        checkName(name, of: "Entity \(label(entity))")
        if !seen.insert(name).inserted { sentences.append("Two entities are called \(name).") }
      }
      if entity.managedObjectModel !== model {
        sentences.append("Entity \(label(entity)) belongs to another model too.")
      }
    }
    if model.entities.count > 10_000 { sentences.append("The model has more than 10,000 entities.") }
  }

  private mutating func checkConfigurations() {
    for name in model.configurations {
      if name.isEmpty { sentences.append("A configuration has no name.") }
      for entity in model.entities(forConfigurationName: name) ?? [] where !isMember(entity) {
        sentences.append(
          "Configuration \(name) contains entity \(label(entity)), which is not in the model.")
      }
    }
  }

  // MARK: Inheritance

  /// Whether the chain of superentities ends, so that the other checks may follow it.
  private mutating func checkInheritance(of entity: EntityDescription) -> Bool {
    var ancestor = entity.superentity
    var steps = 0
    while let current = ancestor {
      steps += 1
      if current === entity || steps > model.entities.count {
        sentences.append("Entity \(label(entity)) inherits from itself.")
        return false
      }
      ancestor = current.superentity
    }
    for subentity in entity.subentities where subentity.superentity !== entity {
      sentences.append("Entity \(label(subentity)) has more than one superentity.")
    }
    guard let parent = entity.superentity else { return true }
    if !isMember(parent) {
      sentences.append("Entity \(label(entity)) inherits from \(label(parent)), which is not in the model.")
      return false
    }
    if !parent.subentities.contains(where: { $0 === entity }) {
      sentences.append("Entity \(label(entity)) is not among the subentities of \(label(parent)).")
    }
    return true
  }

  // MARK: Properties

  private mutating func checkProperties(of entity: EntityDescription) {
    var seen = Set(entity.superentity.map { $0.slotDescriptions.map(\.name) } ?? [])
    seen.formUnion(entity.superentity.map { $0.properties.filter(\.isComputed).map(\.name) } ?? [])
    for property in entity.ownProperties {
      let place = "\(label(entity)).\(property.name)"
      if property.name.isEmpty {
        sentences.append("A property of entity \(label(entity)) has no name.")
      } else {
        checkName(property.name, of: "Property \(place)")
        if property.isComputed, !seen.insert(property.name).inserted {
          sentences.append("Entity \(label(entity)) has two properties called \(property.name).")
        }
        for slot in SlotDescription.slots(of: property) where !seen.insert(slot.name).inserted {
          sentences.append("Entity \(label(entity)) has two properties called \(slot.name).")
        }
      }
      if property.name == SchemaCompiler.baselineName {
        sentences.append("Property \(place) has a name that is reserved.")
      }
      if property.entity !== entity {
        sentences.append("Property \(place) belongs to another entity too.")
      }
      if let identifier = property.explicitRenamingIdentifier {
        checkName(identifier, of: "The renaming identifier of \(place)")
      }
      checkUserInfo(property.userInfo, of: "Property \(place)")
      if property.isComputed {
        sentences += property.sentences(place, in: model)
        continue
      }
      checkRules(of: property, place)
      if let attribute = property as? AttributeDescription {
        checkAttribute(attribute, place)
        if let derived = attribute as? DerivedAttributeDescription {
          checkDerived(derived, of: entity, place)
        }
      } else {
        checkRelationship(property as? RelationshipDescription, place)
      }
    }
  }

  mutating func checkAttribute(_ attribute: AttributeDescription, _ place: String) {
    let type = attribute.attributeType
    checkForm(of: attribute, place)
    if type == .transformable || type == .composite { return }
    if SlotKind(type) == nil || type == .objectID {
      if type == .undefined {
        if !attribute.isTransient {
          sentences.append(
            "Attribute \(place) has no type; only transient attributes may have none.")
        }
      } else {
        sentences.append("Attribute \(place) is of type \(type), which is not supported yet.")
      }
    }
    // The default of a derived one is not used.
    guard let value = attribute.defaultValue, !(attribute is DerivedAttributeDescription) else { return }
    if AttributeValue(value, type: type) == nil {
      let text = AttributeValue(value, type: .undefined)?.description ?? "an object"
      sentences.append(
        "The default value of \(place) is \(text) (\(Swift.type(of: value))), which is no \(type).")
    }
  }

  // MARK: Indexes and constraints

  private mutating func checkIndexes(of entity: EntityDescription) {
    var seen = Set<String>()
    for index in entity.indexes {
      checkIndex(index, of: entity)
      if !seen.insert(index.name).inserted {
        sentences.append("Entity \(label(entity)) has two indexes called \(index.name).")
      }
      if index.entity !== entity {
        sentences.append("Index \(label(entity)).\(index.name) belongs to another entity too.")
      }
    }
  }

  private mutating func checkIndex(_ index: FetchIndexDescription, of entity: EntityDescription) {
    let place = "\(label(entity)).\(index.name)"
    if index.name.isEmpty { sentences.append("An index of entity \(label(entity)) has no name.") }
    checkName(index.name, of: "Index \(place)")
    if index.name.hasPrefix("unique(") {
      sentences.append("Index \(place) has a name that is reserved for uniqueness constraints.")
    }
    if index.isSpatial { checkSpatialIndex(index, of: entity, place) }
    checkKey(index.elements.map(\.propertyName), entity, "Index \(place)")
    if let condition = index.condition { checkCondition(condition, entity, "Index \(place)") }
  }

  private mutating func checkSpatialIndex(
    _ index: FetchIndexDescription, of entity: EntityDescription, _ place: String
  ) {
    if index.elements.contains(where: { $0.collationType != .rTree }) {
      sentences.append("Index \(place) has spatial elements and others; make two indexes of it.")
    }
    let slots = Dictionary(
      entity.slotDescriptions.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
    for element in index.elements where element.collationType == .rTree {
      let name = element.propertyName
      guard let property = slots[name]?.property else { continue }
      let type = (property as? AttributeDescription)?.attributeType
      if type?.isNumber != true, type != .date {
        sentences.append("Index \(place) is spatial and names \(name), which is neither a number nor a date.")
      }
      // Each element is kept as an index of its own, under this name.
      if entity.indexes.contains(where: { $0 !== index && $0.name == "\(index.name).\(name)" }) {
        sentences.append(
          "Index \(place) keeps \(name) under the name \(index.name).\(name), which another index has.")
      }
    }
  }

  private mutating func checkCondition(
    _ condition: IndexCondition, _ entity: EntityDescription, _ place: String
  ) {
    if let refusal = condition.refusal {
      sentences.append("\(place) has a predicate that \(refusal).")
      return
    }
    let slots = Dictionary(
      entity.slotDescriptions.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
    for name in condition.keys {
      guard let slot = slots[name], slot.property is AttributeDescription else {
        sentences.append("\(place) has a predicate on \(name), which is no attribute of the entity.")
        continue
      }
      if slot.isTransient { sentences.append("\(place) has a predicate on \(name), which is transient.") }
    }
  }

  private mutating func checkConstraints(of entity: EntityDescription) {
    var seen = Set<[String]>()
    for names in entity.uniquenessConstraints {
      let derived = names.first { entity.attributesByName[$0] is DerivedAttributeDescription }
      let place = "Uniqueness constraint (\(names.joined(separator: ","))) of entity \(label(entity))"
      if !seen.insert(names.sorted()).inserted { sentences.append("\(place) is there twice.") }
      if let derived { sentences.append("\(place) names \(derived), which is derived.") }
      checkKey(names, entity, place)
    }
  }

  private mutating func checkKey(_ names: [String], _ entity: EntityDescription, _ place: String) {
    if names.isEmpty { sentences.append("\(place) names no attribute.") }
    if Set(names).count < names.count { sentences.append("\(place) names a property twice.") }
    let slots = Dictionary(
      entity.slotDescriptions.map { ($0.name, $0) }, uniquingKeysWith: { _, last in last })
    for name in names {
      switch slots[name]?.property {
      case let attribute as AttributeDescription:
        if slots[name]?.isTransient == true {
          sentences.append("\(place) names \(name), which is transient.")
        }
        if let reason = attribute.reasonAgainstKeys { sentences.append("\(place) names \(name), \(reason).") }
      case nil: sentences.append("\(place) names \(name), which the entity does not have.")
      case let relationship as RelationshipDescription where !relationship.isToMany:
        if relationship.isTransient { sentences.append("\(place) names \(name), which is transient.") }
      default:
        sentences.append("\(place) names \(name), which is no attribute and no to-one relationship.")
      }
    }
  }

  // MARK: The rest

  mutating func checkUserInfo(_ userInfo: [AnyHashable: Any]?, of place: String) {
    guard let userInfo else { return }
    if UserInfoDocument(userInfo) == nil {
      sentences.append(
        """
        \(place) has user info that cannot be stored: use string keys and strings, numbers, booleans, dates, \
        data, UUIDs, URLs, and arrays and dictionaries of those.
        """)
    }
  }

  /// Names go into URIs, signatures and keyspace names.
  mutating func checkName(_ name: String, of place: String) {
    if name.utf8.count > 255 { sentences.append("\(place) is longer than 255 bytes.") }
    if name.unicodeScalars.contains(where: { $0.value < 32 || $0.value == 127 }) {
      sentences.append("\(place) contains a control character.")
    }
    if name.contains("/") { sentences.append("\(place) contains a slash.") }
  }

  mutating func report(_ sentence: String) { sentences.append(sentence) }

  func isMember(_ entity: EntityDescription) -> Bool { members.contains(ObjectIdentifier(entity)) }

  func label(_ entity: EntityDescription) -> String {
    entity.name.flatMap { $0.isEmpty ? nil : $0 } ?? "without a name"
  }
}
