/// Makes the entities of classes, of those that they lead to and of their superclasses.
struct SchemaBuilder {
  private var descriptors: [ModelDescriptor] = []
  private var known: Set<ObjectIdentifier> = []
  private var faults: [String] = []

  static func entities(of types: [any PersistentModel.Type]) -> (entities: [Schema.Entity], faults: [String])
  {
    var builder = SchemaBuilder()
    for type in types { builder.add(type) }
    var next = 0
    while next < builder.descriptors.count {
      for property in builder.descriptors[next].ownProperties {
        switch property.kind {
        case .toOne(let type, _), .toMany(let type, _): builder.add(type)
        case .attribute: break
        }
      }
      next += 1
    }
    return builder.build()
  }

  private mutating func add(_ type: any PersistentModel.Type) {
    guard known.insert(ObjectIdentifier(type)).inserted else { return }
    let descriptor = ModelDescriptor.of(type)
    descriptors.append(descriptor)
    if let parent = descriptor.superdescriptor { add(parent.type) }
  }

  private mutating func build() -> (entities: [Schema.Entity], faults: [String]) {
    let entities = descriptors.map { entity(of: $0) }
    let places = Dictionary(
      descriptors.enumerated().map { (ObjectIdentifier($0.element.type), $0.offset) },
      uniquingKeysWith: { first, _ in first })
    for (place, descriptor) in descriptors.enumerated() {
      guard let parent = descriptor.superdescriptor, let above = places[ObjectIdentifier(parent.type)] else {
        continue
      }
      entities[above].add(subentity: entities[place])
    }
    for (name, same) in Dictionary(grouping: descriptors, by: \.entityName) where same.count > 1 {
      let classes = same.map { String(reflecting: $0.type) }.joined(separator: " and ")
      faults.append(
        "\(classes) are both of an entity called \(name): the classes of one schema have different names.")
    }
    var inverses = InverseFinder(zip(descriptors, entities).map { ($0, $1) })
    inverses.run()
    faults += inverses.faults
    return (entities, faults)
  }

  // MARK: Entities

  private mutating func entity(of descriptor: ModelDescriptor) -> Schema.Entity {
    let properties = descriptor.ownProperties.map { property -> any SchemaProperty in
      switch property.kind {
      case .attribute(let storage): Self.attribute(property, storage)
      case .toOne(let type, _), .toMany(let type, _):
        Schema.Relationship(
          property.name, like: property.relationship, keypath: property.keyPath,
          destination: Schema.name(of: type))
      }
    }
    let entity = Schema.Entity(descriptor.entityName, modelType: descriptor.type, properties: properties)
    for property in properties where property.isUnique {
      // Several objects may lead to the same ones: of a to-many relationship the option says nothing.
      if let relationship = property as? Schema.Relationship, !relationship.isToOneRelationship { continue }
      entity.uniquenessConstraints.append([property.name])
    }
    for key in descriptor.keys {
      guard let key = key as? any KeyPathGroups else { continue }
      let groups = names(of: key.groups, descriptor, "#" + key.kind)
      if key.isUnique {
        entity.uniquenessConstraints += groups
      } else {
        let spatial = names(of: key.spatialGroups, descriptor, "#" + key.kind)
        entity.indices += groups
        entity.spatialIndices += spatial
      }
    }
    return entity
  }

  private static func attribute(_ property: PropertyDescriptor, _ storage: AttributeStorage)
    -> Schema.Attribute
  {
    let type = Swift.type(of: property.keyPath).valueType
    let given = property.attribute
    let original = given?.originalName ?? ""
    return storage.schemaAttribute(
      property.name, originalName: original.isEmpty ? property.name : original,
      options: given?.options ?? [], valueType: type, defaultValue: property.defaultValue,
      hashModifier: given?.hashModifier)
  }

  /// An empty group says nothing.
  private mutating func names(of groups: [[AnyKeyPath]], _ descriptor: ModelDescriptor, _ macro: String)
    -> [[String]]
  {
    groups.filter { !$0.isEmpty }.map { names(of: $0, descriptor, macro) }
  }

  private mutating func names(of group: [AnyKeyPath], _ descriptor: ModelDescriptor, _ macro: String)
    -> [String]
  {
    group.compactMap { keyPath in
      if let path = descriptor.path(for: keyPath) { return path }
      faults.append(
        "\(macro) of \(descriptor.entityName) names \(keyPath), which is no property that a store keeps.")
      return nil
    }
  }
}

/// `#Unique` and `#Index` of whatever model.
private protocol KeyPathGroups: SchemaProperty {
  var kind: String { get }
  var groups: [[AnyKeyPath]] { get }
  var spatialGroups: [[AnyKeyPath]] { get }
}

extension Schema.Unique: KeyPathGroups {
  fileprivate var kind: String { "Unique" }
  fileprivate var groups: [[AnyKeyPath]] { constraints }
  fileprivate var spatialGroups: [[AnyKeyPath]] { [] }
}

extension Schema.Index: KeyPathGroups {
  fileprivate var kind: String { "Index" }
  fileprivate var groups: [[AnyKeyPath]] { indices }
  fileprivate var spatialGroups: [[AnyKeyPath]] { spatialIndices }
}
