/// What is wrong with the classes of a model's entities.
///
/// A class whose accessors use slot numbers reads and writes whatever property has that number. So it says which names it means, and they are
/// compared with the model's. One whose accessors find their slots by name says which, and of what type: a property more or less on either side
/// is reported before it is missed. One that says nothing is taken only where classes find their properties by name.
extension ModelValidation {
  /// One sentence for each entity whose class does not say what its slot numbers mean.
  static func sentences(undeclaredIn schema: Schema) -> [String] {
    schema.entities.compactMap { entity in
      guard let type = entity.managedObjectClass as? any SlotDeclaring.Type, type.declaredSlots == nil,
        type.allNamedSlots == nil, base(of: type) != type
      else { return nil }
      let names = entity.entityDescription.slotDescriptions.map(\.name)
      if names.isEmpty { return nil }
      return """
        Class \(type) of entity \(entity.name) does not declare its slots, so a change of the model could make it read and write \
        another property; add to it: \(declaration(names)), or [] if it uses no slot numbers. A class whose accessors use a Slot for \
        each property lists them in namedSlots instead.
        """
    }
  }

  mutating func checkClass(of entity: EntityDescription) {
    guard let declaredClass = entity.managedObjectClass else { return }
    guard let type = declaredClass as? any SlotDeclaring.Type else {
      report("Class \(declaredClass) of entity \(label(entity)) is no subclass of ManagedObject.")
      return
    }
    if let type = declaredClass as? any ValueChecking.Type { checkValidatedKeys(of: entity, type) }
    checkStoredProperties(of: entity, type)
    if let named = type.allNamedSlots { checkNamedSlots(of: entity, type, named) }
    checkSlots(of: entity, type)
  }

  private mutating func checkSlots(of entity: EntityDescription, _ type: any SlotDeclaring.Type) {
    guard let declared = type.declaredSlots, !declared.isEmpty else { return }
    let actual = entity.slotDescriptions.map(\.name)
    if declared == actual || isDeclaration(declared, ofAncestorOf: entity, type) { return }
    report(
      """
      Class \(type) declares the slots \(declared.joined(separator: ", ")), but entity \(label(entity)) has \
      \(actual.joined(separator: ", ")); its accessors must use the numbers of: \(Self.declaration(actual)).
      """)
  }

  /// Whether the class is that of a superentity, whose slots it declares: they come first in the subentity.
  private func isDeclaration(
    _ declared: [String], ofAncestorOf entity: EntityDescription, _ type: any SlotDeclaring.Type
  ) -> Bool {
    var ancestor = entity.superentity
    while let current = ancestor {
      if current.managedObjectClass == type, current.slotDescriptions.map(\.name) == declared { return true }
      ancestor = current.superentity
    }
    return false
  }

  /// A stored property that has the name of one of the model's hides it: what is set there is never saved. In a class that lists its slots every
  /// stored property that could be an attribute is one that was forgotten, unless the class says that it is meant.
  private mutating func checkStoredProperties(of entity: EntityDescription, _ type: any SlotDeclaring.Type) {
    let base: AnyClass = Self.base(of: type)
    if base == type { return }
    let kept = Set(entity.slotDescriptions.filter { !$0.isTransient }.map(\.name))
    let ignored = Set(type.ignoredProperties)
    let isListed = type.allNamedSlots != nil
    var seen = Set<String>()
    for property in StoredProperties.all(of: type, below: base) {
      let name = property.name
      if kept.contains(name) {
        guard seen.insert(name).inserted else { continue }
        report(
          """
          Class \(type) has a stored property \(name), which hides the property of entity \(label(entity)) and is never saved; \
          make it a computed one, or @NSManaged, or give it another name.
          """)
      } else if isListed, !ignored.contains(name), let kind = property.type, Self.couldBeKept(kind),
        seen.insert(name).inserted
      {
        report(
          """
          Class \(type) has a stored property \(name) of type \(kind), which looks like an attribute of entity \(label(entity)) and is \
          never saved; declare it as one, with static let \(name) = Slot<\(type), \(kind)>("\(name)"), or name it in ignoredProperties \
          (with @Managed: write @Ignored before it).
          """)
      }
    }
  }

  /// Whether an attribute or a relationship could hold values of a type.
  private static func couldBeKept(_ type: Any.Type) -> Bool {
    if let optional = type as? any OptionalValue.Type { return couldBeKept(optional.wrapped) }
    if let collection = type as? any MemberCollection.Type {
      return collection.element is any SlotDeclaring.Type
    }
    if let raw = type as? any RawRepresentable.Type { return isAttribute(rawValueOf: raw) }
    return type is any AttributeRepresentable.Type || type is any SlotDeclaring.Type
  }

  private static func isAttribute<Raw: RawRepresentable>(rawValueOf type: Raw.Type) -> Bool {
    Raw.RawValue.self is any AttributeRepresentable.Type
  }

  /// What a class finds by name is what its entity has.
  private mutating func checkNamedSlots(
    of entity: EntityDescription, _ type: any SlotDeclaring.Type, _ named: [NamedSlot]
  ) {
    let place = type.ownDeclaration.map { " (\($0.file):\($0.line))" } ?? ""
    let properties = entity.propertiesByName
    for slot in named {
      guard let property = properties[slot.name] else {
        report(
          """
          Class \(type)\(place) declares a property \(slot.name), which entity \(label(entity)) does not have; it has \
          \(properties.keys.sorted().joined(separator: ", ")).
          """)
        continue
      }
      if let found = Self.difference(slot.kind, property) {
        report(
          """
          Class \(type)\(place) declares \(slot.name) as \(slot.typeName), but \(label(entity)).\(slot.name) is \(found); give one of \
          them the other's type.
          """)
      }
    }
    let names = Set(named.map(\.name))
    var shared = entity.superentity
    while let current = shared {
      // The class of a superentity need not know what subentities add.
      if current.managedObjectClass == type { return }
      shared = current.superentity
    }
    for property in entity.propertiesBySlot where !names.contains(property.name) {
      // What superentities with classes that say nothing have, those classes find in their own way.
      if let owner = property.entity, owner !== entity,
        (owner.managedObjectClass as? any SlotDeclaring.Type)?.allNamedSlots == nil
      {
        continue
      }
      report(
        """
        Class \(type)\(place) does not declare the property \(property.name) of entity \(label(entity)); add to it: static let \
        \(property.name) = Slot<\(type), \(Self.swiftType(of: property))>("\(property.name)").
        """)
    }
  }

  /// What a property is, when it is something else than a class takes it to be.
  private static func difference(_ kind: NamedSlot.Kind, _ property: PropertyDescription) -> String? {
    let found: NamedSlot.Kind
    let words: String
    if let attribute = property as? AttributeDescription {
      found = .attribute(attribute.attributeType)
      words = "an attribute of type \(attribute.attributeType)"
      if case .unknown = kind, attribute.isTransient { return nil }
    } else if let relationship = property as? RelationshipDescription {
      found = !relationship.isToMany ? .toOne : relationship.isOrdered ? .ordered : .toMany
      words =
        "a \(relationship.isToMany ? "to-many" : "to-one") relationship\(relationship.isOrdered ? " with an order" : "")"
    } else {
      found = .fetched
      words = "a fetched property"
    }
    return found == kind ? nil : words
  }

  /// How a property is declared in Swift.
  private static func swiftType(of property: PropertyDescription) -> String {
    if let relationship = property as? RelationshipDescription {
      let type =
        relationship.destinationEntity?.managedObjectClass.map { "\($0)" } ?? "ManagedObject"
      return !relationship.isToMany ? "\(type)?" : relationship.isOrdered ? "[\(type)]" : "Set<\(type)>"
    }
    guard let attribute = property as? AttributeDescription else { return "[ManagedObject]" }
    let type = attribute.attributeType.swiftName ?? "a type that is Codable"
    return attribute.isOptional ? "\(type)?" : type
  }

  /// `ManagedObject`, which a lower floor does not know: the class that declares slots and whose superclass does not.
  private static func base(of type: any SlotDeclaring.Type) -> AnyClass {
    var current: AnyClass = type
    while let superclass = _getSuperclass(current), superclass is any SlotDeclaring.Type {
      current = superclass
    }
    return current
  }

  private static func declaration(_ names: [String]) -> String {
    "override class var declaredSlots: [String]? { [" + names.map { "\"\($0)\"" }.joined(separator: ", ")
      + "] }"
  }
}

/// A collection that a to-many relationship could be.
private protocol MemberCollection {
  static var element: Any.Type { get }
}

extension Array: MemberCollection {
  static var element: Any.Type { Element.self }
}

extension Set: MemberCollection {
  static var element: Any.Type { Element.self }
}

extension AttributeType {
  /// The type in Swift; nil for those that a class cannot name.
  package var swiftName: String? {
    switch self {
    case .integer16: "Int16"
    case .integer32: "Int32"
    case .integer64: "Int"
    case .decimal: "Decimal"
    case .double: "Double"
    case .float: "Float"
    case .string: "String"
    case .boolean: "Bool"
    case .date: "Date"
    case .binaryData: "Data"
    case .uuid: "UUID"
    case .uri: "URL"
    case .undefined, .transformable, .objectID, .composite: nil
    }
  }
}
