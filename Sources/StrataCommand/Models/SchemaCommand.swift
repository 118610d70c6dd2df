import ArgumentParser
import Foundation
import StrataCore

/// The model of a store.
struct SchemaCommand: StoreTask {
  static let configuration = CommandConfiguration(
    commandName: "schema",
    abstract: "Prints a model: of a store, or of Xcode's files.",
    discussion: """
      As text for people; as JSON, which “diff”, “migrate” and “load” read; as classes in Swift; as an .xcdatamodeld for Xcode; as a picture.
      """)

  @Argument(help: ArgumentHelp(ModelSource.help), completion: .file()) var source: String
  @Flag(help: "As JSON, the form in which stores keep their models.") var json = false
  @Flag(help: "As Swift: a class for each entity, whose accessors find their slots by name.") var swift =
    false
  @Option(help: "Write an .xcdatamodeld of this name, which must not exist.", completion: .directory)
  var xcdatamodeld: String?
  @Flag(help: "As a picture, in SVG: entities with their attributes, relationships, inheritance.")
  var diagram = false
  @Option(help: "Only this entity and what it inherits from; may be given several times.") var entity:
    [String] = []
  var subject: String? { source }
  static let readsServers = true

  func validate() throws {
    if [json, swift, diagram, xcdatamodeld != nil].count(where: { $0 }) > 1 {
      throw ValidationError("Only one of --json, --swift, --xcdatamodeld and --diagram can be chosen.")
    }
    if !entity.isEmpty, json || swift || xcdatamodeld != nil {
      throw ValidationError("--entity is for the text and the picture: the other forms are of whole models.")
    }
  }

  func perform() throws {
    let model = try ModelSource.model(source)
    // Compiled, so that what is wrong with it is reported.
    let schema = try model.schema()
    let output = Output.current
    if json {
      try output.write(Array(try model.encodedForStores()))
      return try output.line()
    }
    if swift { return try output.write(SwiftClasses(model).text) }
    if let xcdatamodeld { return try XcodeModel(model).write(to: xcdatamodeld) }
    let names = try Set(entity.map { try Names.entity($0, in: schema).name })
    let entities = model.entities.filter { candidate in
      names.isEmpty
        || names.contains { name in
          schema.entity(named: name)?.entityDescription.isKindOf(entity: candidate) == true
        }
    }.sorted { $0.title < $1.title }
    if diagram { return try output.write(Diagram(entities).svg) }
    for (place, entity) in entities.enumerated() {
      if place > 0 { try output.line() }
      for line in SchemaText.lines(of: entity) { try output.line(line) }
    }
    for name in model.configurations {
      let members = model.entities(forConfigurationName: name)?.map(\.title).sorted() ?? []
      try output.line("\nconfiguration \(name): \(members.joined(separator: ", "))")
    }
  }
}

/// A model as text for people.
enum SchemaText {
  static func lines(of entity: EntityDescription) -> [String] {
    var head = entity.title
    if let parent = entity.superentity { head += ": \(parent.title)" }
    if entity.isAbstract { head += " (abstract)" }
    var lines = [head]
    let properties = entity.declaredProperties
    let width = properties.reduce(0) { max($0, $1.name.count) }
    for property in properties {
      let gap = String(repeating: " ", count: width - property.name.count)
      lines.append("  \(property.name)\(gap)  \(words(property))")
      if let composite = property as? CompositeAttributeDescription {
        for element in composite.elements {
          lines.append("  \(String(repeating: " ", count: width))    .\(element.name)  \(words(element))")
        }
      }
    }
    for constraint in entity.uniquenessConstraints {
      lines.append("  unique \(constraint.joined(separator: ", "))")
    }
    for index in entity.indexes {
      let parts = index.elements.map { $0.propertyName + ($0.isAscending ? "" : " descending") }
      lines.append(
        "  \(index.isSpatial ? "spatial " : "")index \(index.name): \(parts.joined(separator: ", "))")
    }
    return lines
  }

  private static func words(_ property: PropertyDescription) -> String {
    var parts: [String]
    if let relationship = property as? RelationshipDescription {
      let kind =
        !relationship.isToMany ? "to one" : relationship.isOrdered ? "to many, ordered," : "to many"
      parts = ["\(kind) \(relationship.destinationEntity?.title ?? "?")"]
      if let inverse = relationship.inverseRelationship { parts.append("inverse \(inverse.name)") }
      if relationship.deleteRule != .nullify { parts.append("delete rule \(relationship.deleteRule)") }
      if relationship.minCount > 0 { parts.append("at least \(relationship.minCount)") }
      if relationship.maxCount > 1 { parts.append("at most \(relationship.maxCount)") }
    } else if let attribute = property as? AttributeDescription {
      parts = ["\(attribute.attributeType)"]
      if let value = AttributeValue(attribute.defaultValue, type: attribute.attributeType), !value.isNull {
        parts.append("default \(ValueText.shown(value))")
      }
      if let derived = attribute as? DerivedAttributeDescription {
        parts.append("derived from \(derived.derivationExpression ?? "?")")
      }
      if let name = attribute.valueTransformerName { parts.append("transformer \(name)") }
    } else {
      parts = ["fetched"]
    }
    if !property.isOptional { parts.append("required") }
    if property.isTransient { parts.append("transient") }
    parts += property.validationRules.map { "\($0.condition)" }
    if let old = property.renamingIdentifier, old != property.name { parts.append("renamed from \(old)") }
    return parts.joined(separator: ", ")
  }
}
