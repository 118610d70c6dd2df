import Foundation
import StrataCore

/// A class for each entity of a model, in Swift. The model stays where it is: the classes find their slots by name.
struct SwiftClasses {
  private let model: ManagedObjectModel

  init(_ model: ManagedObjectModel) { self.model = model }

  var text: String {
    let entities = model.entities.sorted { $0.title < $1.title }
    let names = entities.map { Self.className($0) }
    var text = """
      import Foundation
      import Strata

      // Give the model its classes before a store is added:
      //   for (name, type) in modelClasses { model.entitiesByName[name]?.managedObjectClass = type }
      let modelClasses: [String: ManagedObject.Type] = [

      """
    for (entity, name) in zip(entities, names) { text += "  \(Self.literal(entity.title)): \(name).self,\n" }
    text += entities.isEmpty ? "  :\n]\n" : "]\n"
    for entity in entities { text += "\n" + Self.text(of: entity) }
    return text
  }

  private static func text(of entity: EntityDescription) -> String {
    let name = className(entity)
    let parent = entity.superentity.map(className) ?? "ManagedObject"
    let properties = entity.declaredProperties
    var text = "\(entity.subentities.isEmpty ? "final " : "")class \(name): \(parent) {\n"
    var (slots, accessors): ([String], [String]) = ([], [])
    for property in properties {
      let identifier = escaped(property.name)
      if let type = slotType(of: property) {
        text += "  static let \(identifier) = Slot<\(name), \(type)>(\(literal(property.name)))\n"
        slots.append("NamedSlot(\(name).\(identifier))")
        let isDerived = property is DerivedAttributeDescription
        accessors.append(
          isDerived
            ? "  var \(identifier): \(type) { read(\(name).\(identifier)) }\n"
            : """
              var \(identifier): \(type) {
                get { read(\(name).\(identifier)) }
                set { write(newValue, \(name).\(identifier)) }
              }

            """)
      } else {
        slots.append("NamedSlot(\(literal(property.name)), \(kind(of: property)), typeName: \"Any?\")")
        let isReadOnly = property is DerivedAttributeDescription || !(property is AttributeDescription)
        accessors.append(
          isReadOnly
            ? "  var \(identifier): Any? { value(forKey: \(literal(property.name))) }\n"
            : """
              var \(identifier): Any? {
                get { value(forKey: \(literal(property.name))) }
                set { setValue(newValue, forKey: \(literal(property.name))) }
              }

            """)
      }
    }
    text += "  override class var namedSlots: [NamedSlot]? {\n    [\n"
    text += slots.map { "      \($0),\n" }.joined()
    text += "    ]\n  }\n"
    if !accessors.isEmpty { text += "\n" + accessors.joined() }
    return text + "}\n"
  }

  /// The type of a slot; nil for what is asked by its key: composite and transformable values, transient ones, fetched properties.
  private static func slotType(of property: PropertyDescription) -> String? {
    if property.isTransient { return nil }
    if let relationship = property as? RelationshipDescription {
      let other = relationship.destinationEntity.map(className) ?? "ManagedObject"
      return !relationship.isToMany ? "\(other)?" : relationship.isOrdered ? "[\(other)]" : "Set<\(other)>"
    }
    guard let attribute = property as? AttributeDescription, let type = attribute.attributeType.swiftName
    else { return nil }
    return attribute.isOptional ? type + "?" : type
  }

  private static func kind(of property: PropertyDescription) -> String {
    if let attribute = property as? AttributeDescription { return ".attribute(.\(attribute.attributeType))" }
    guard let relationship = property as? RelationshipDescription else { return ".fetched" }
    return !relationship.isToMany ? ".toOne" : relationship.isOrdered ? ".ordered" : ".toMany"
  }

  /// A name that Swift takes for a class.
  private static func className(_ entity: EntityDescription) -> String {
    let letters = entity.title.map { $0.isLetter || $0.isNumber || $0 == "_" ? $0 : "_" }
    let name = String(letters)
    return name.first?.isNumber == true || name.isEmpty
      ? "_" + name : escaped(name.prefix(1).uppercased() + name.dropFirst())
  }

  private static let reserved: Set<String> = [
    "associatedtype", "class", "deinit", "enum", "extension", "fileprivate", "func", "import", "init",
    "inout",
    "internal", "let", "open", "operator", "private", "precedencegroup", "protocol", "public", "rethrows",
    "static", "struct", "subscript", "typealias", "var", "break", "case", "catch", "continue", "default",
    "defer", "do", "else", "fallthrough", "for", "guard", "if", "in", "repeat", "return", "throw", "switch",
    "where", "while", "Any", "as", "await", "false", "is", "nil", "self", "Self", "super", "throws", "true",
    "try",
  ]

  private static func escaped(_ name: String) -> String { reserved.contains(name) ? "`\(name)`" : name }

  private static func literal(_ text: String) -> String {
    "\"" + text.replacing(mark: "\\", with: "\\\\").replacing(mark: "\"", with: "\\\"") + "\""
  }
}
