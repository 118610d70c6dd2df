/// Makes a model of a description in Xcode's XML, reporting everything that is wrong with it, one sentence each.
///
///     <model userDefinedModelVersionIdentifier="…">
///       <entity name parentEntity isAbstract representedClassName elementID …>
///         <attribute/> <relationship/> <fetchedProperty/> <fetchIndex/> <compoundIndexes/> <uniquenessConstraints/> <userInfo/>
///       <composite name> <attribute/>
///       <configuration name> <memberEntity name/>
///       <fetchRequest name entity predicateString/>
///       <elements>          the diagram: not looked at
///
/// Elements and XML attributes that are not known are left alone: they are of newer editors. Docs/Models.md has the whole table.
/// What the descriptions themselves forbid is left to `ModelValidation`.
struct XcodeModelReader {
  /// The file's name, which begins every sentence.
  let file: String
  private let root: XcodeElement
  private var sentences: [String] = []
  var isSound = true

  /// Of each entity of the description, in its order.
  private(set) var entities: [(element: XcodeElement, description: EntityDescription)] = []
  /// The first entity of each name.
  private(set) var byName: [String: EntityDescription] = [:]
  var composites: [String: XcodeElement] = [:]
  var fetchedProperties: [XcodeFetchedProperty] = []
  var indexPredicates: [XcodeIndexPredicate] = []
  /// Attributes that may still be made: composite types inside each other multiply.
  var attributesLeft = XcodeModelReader.mostAttributes

  /// The most entities of a description.
  static let mostEntities = 5_000
  /// The most superentities above each other.
  static let mostLevels = 100
  /// The most attributes, elements of composite ones included, inherited ones not.
  static let mostAttributes = 100_000
  /// The most fetch requests, fetched properties and predicates of indexes.
  static let mostRequests = 2_000
  /// How much work looking at the whole model may be: properties with inherited ones, times names of indexes and constraints.
  private static let mostWork = 5_000_000

  init(root: XcodeElement, file: String) {
    self.root = root
    self.file = file
  }

  mutating func read() -> XcodeModel {
    guard root.name == "model" else {
      report(root, "The outermost element is “\(root.name.prefix(100))” and not “model”.")
      return XcodeModel(
        model: ManagedObjectModel(), requests: [], fetchedProperties: [], indexPredicates: [],
        sentences: sentences, isSound: false)
    }
    readComposites()
    readEntities()
    linkSuperentities()
    for (element, description) in entities { readProperties(of: description, from: element) }
    linkRelationships()
    for (element, description) in entities { readKeys(of: description, from: element) }
    checkSize()
    let model = ManagedObjectModel()
    if isSound { model.entities = entities.map(\.description) }
    if let identifier = root.attributes["userDefinedModelVersionIdentifier"], !identifier.isEmpty {
      model.versionIdentifiers = [identifier]
    }
    readConfigurations(into: model)
    let requests = root.children(named: "fetchRequest").compactMap { readRequest($0, "Fetch request") }
    if requests.count + fetchedProperties.count + indexPredicates.count > Self.mostRequests {
      isSound = false
      report(
        root,
        "There are more than \(Self.mostRequests) fetch requests, fetched properties and predicates of indexes."
      )
    }
    return XcodeModel(
      model: model, requests: requests, fetchedProperties: fetchedProperties,
      indexPredicates: indexPredicates, sentences: sentences, isSound: isSound)
  }

  // MARK: Entities

  private mutating func readComposites() {
    for element in root.children(named: "composite") {
      guard let name = name(of: element, "A composite type") else { continue }
      if composites.updateValue(element, forKey: name) != nil {
        report(element, "Two composite types are called \(name).")
      }
    }
  }

  private mutating func readEntities() {
    let elements = root.children(named: "entity")
    if elements.count > Self.mostEntities {
      isSound = false
      return report(root, "There are more than \(Self.mostEntities) entities.")
    }
    for element in elements {
      guard let name = name(of: element, "An entity") else { continue }
      let entity = EntityDescription(name)
      let place = "Entity \(name)"
      entity.isAbstract = flag("isAbstract", of: element, place) ?? false
      if let className = element.attributes["representedClassName"],
        !["", "NSManagedObject", "ManagedObject"].contains(className)
      {
        entity.managedObjectClassName = className
      }
      entity.explicitRenamingIdentifier = text("elementID", of: element)
      entity.versionHashModifier = text("versionHashModifier", of: element)
      entity.userInfo = userInfo(of: element, place)
      entities.append((element, entity))
      if byName[name] == nil {
        byName[name] = entity
      } else {
        report(element, "Two entities are called \(name).")
      }
    }
  }

  private mutating func linkSuperentities() {
    var parents: [String: String] = [:]
    for (element, entity) in entities {
      guard let name = entity.name, byName[name] === entity, let parent = text("parentEntity", of: element)
      else { continue }
      if byName[parent] == nil {
        report(element, "Entity \(name) inherits from \(parent.prefix(300)), which is not in the model.")
      } else {
        parents[name] = parent
      }
    }
    var children: [String: [EntityDescription]] = [:]
    for (element, entity) in entities {
      guard let name = entity.name, byName[name] === entity, let parent = parents[name] else { continue }
      var ancestor: String? = parent
      var steps = 0
      while let current = ancestor, current != name, steps <= Self.mostLevels {
        steps += 1
        ancestor = parents[current]
      }
      if ancestor == name || steps > Self.mostLevels {
        report(
          element,
          "Entity \(name) inherits from itself, or from more than \(Self.mostLevels) entities above each other."
        )
        isSound = false
      } else {
        children[parent, default: []].append(entity)
      }
    }
    guard isSound else { return }
    for (name, subentities) in children { byName[name]?.subentities = subentities }
  }

  // MARK: Properties

  private mutating func readProperties(of entity: EntityDescription, from element: XcodeElement) {
    var properties: [PropertyDescription] = []
    for child in element.children {
      switch child.name {
      case "attribute":
        if let attribute = readAttribute(child, of: entity.name ?? "", within: []) {
          properties.append(attribute)
        }
      case "relationship":
        if let relationship = readRelationship(child, of: entity) { properties.append(relationship) }
      case "fetchedProperty": readFetchedProperty(child, of: entity)
      default: break
      }
    }
    entity.properties = properties
  }

  /// What all properties have.
  mutating func readProperty(_ property: PropertyDescription, from element: XcodeElement, _ place: String) {
    property.isOptional = flag("optional", of: element, place) ?? false
    property.isTransient = flag("transient", of: element, place) ?? false
    property.explicitRenamingIdentifier = text("elementID", of: element)
    property.versionHashModifier = text("versionHashModifier", of: element)
    property.userInfo = userInfo(of: element, place)
  }

  // MARK: The whole

  private mutating func readConfigurations(into model: ManagedObjectModel) {
    for element in root.children(named: "configuration") {
      guard let name = name(of: element, "A configuration") else { continue }
      if model.entities(forConfigurationName: name) != nil {
        report(element, "Two configurations are called \(name).")
      }
      var members: [EntityDescription] = []
      for member in element.children(named: "memberEntity") {
        guard let entity = self.name(of: member, "A member of configuration \(name)") else { continue }
        if let entity = byName[entity] {
          members.append(entity)
        } else {
          report(member, "Configuration \(name) has the member \(entity), which is not in the model.")
        }
      }
      model.setEntities(members, forConfigurationName: name)
    }
  }

  /// Looks whether checking and compiling the model is work in proportion to its size.
  private mutating func checkSize() {
    guard isSound else { return }
    var own: [ObjectIdentifier: Int] = [:]
    for (_, entity) in entities { own[ObjectIdentifier(entity)] = entity.ownSlotDescriptions.count }
    var work = 0
    for (_, entity) in entities {
      var slots = 1
      var ancestor: EntityDescription? = entity
      while let current = ancestor {
        slots += own[ObjectIdentifier(current)] ?? 0
        ancestor = current.superentity
      }
      let derived = entity.ownProperties.count { $0 is DerivedAttributeDescription }
      let keys =
        entity.indexes.reduce(0) { $0 + $1.elements.count }
        + entity.uniquenessConstraints.reduce(0) { $0 + $1.count }
      work += slots * (1 + keys + 4 * derived)
    }
    if work > Self.mostWork {
      isSound = false
      report(root, "The model is too large: it has too many inherited properties, indexes or constraints.")
    }
  }

  // MARK: Reporting

  /// The most sentences that are kept.
  private static let mostSentences = 200

  mutating func report(_ element: XcodeElement, _ sentence: String) {
    guard sentences.count < Self.mostSentences else { return }
    sentences.append("\(file), line \(element.line): \(sentence)")
    if sentences.count == Self.mostSentences {
      sentences.append("\(file): There may be more that is wrong; this is where the list ends.")
    }
  }
}
