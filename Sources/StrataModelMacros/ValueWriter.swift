import SwiftSyntax
import SwiftSyntaxBuilder

/// Writes `Value`, the struct of a class's attributes and related IDs.
struct ValueWriter {
  private let found: ManagedClass
  /// What a value keeps.
  private let properties: [ModelProperty]
  private let inherited: String?

  init(_ found: ManagedClass) {
    self.found = found
    properties = found.properties.filter { property in
      switch property.kind {
      case .attribute, .relationship: true
      case .transient, .derived, .fetched: false
      }
    }
    inherited = found.superclass
  }

  func members() -> [DeclSyntax] {
    let access = found.access
    var members: [DeclSyntax] = [
      """
      \(raw: access)nonisolated struct Value: StrataModels.ManagedValue {
        \(raw: body().joined(separator: "\n").replacing("\n", with: "\n  "))
      }
      """
    ]
    // A property of that name is the class's own.
    if found.isFinal, !found.properties.contains(where: { $0.key == "value" }) {
      members.append("\(raw: access)var value: Value { Value(self) }")
    }
    return members
  }

  private func body() -> [String] {
    let access = found.access
    var lines = properties.map { "\(found.access(of: $0).words)var \($0.name): \(type(of: $0))" }
    if let inherited { lines.insert("\(access)var inherited: \(inherited).Value", at: 0) }
    lines += [memberwise(), fromObject(), makeObject(), writing()]
    lines.append(keys())
    lines += [decoding(), encoding()]
    return lines
  }

  private func type(of property: ModelProperty) -> String {
    guard property.isRelationship else { return property.type.text }
    if property.type.arrayElement != nil { return "[StrataModels.ManagedObjectID]" }
    return property.type.setElement != nil
      ? "Swift.Set<StrataModels.ManagedObjectID>" : "StrataModels.ManagedObjectID?"
  }

  /// What the property is when nothing is said of it; nil when something must be.
  private func initial(of property: ModelProperty) -> String? {
    if property.isRelationship {
      return property.type.arrayElement != nil || property.type.setElement != nil ? "[]" : "nil"
    }
    if let value = property.defaultValue { return value.trimmedDescription }
    return property.type.isOptional ? "nil" : nil
  }

  private func memberwise() -> String {
    var parameters = properties.map { property in
      "\(property.name): \(type(of: property))" + (initial(of: property).map { " = \($0)" } ?? "")
    }
    var lines = properties.map { "  self.\($0.name) = \($0.name)" }
    if let inherited {
      parameters.insert("inherited: \(inherited).Value", at: 0)
      lines.insert("  self.inherited = inherited", at: 0)
    }
    let access = properties.map { found.access(of: $0) }.min()?.words ?? found.access
    return function("\(access)init(\(parameters.joined(separator: ", ")))", lines)
  }

  private func fromObject() -> String {
    var lines = properties.map { property in
      guard property.isRelationship else { return "  self.\(property.name) = object.\(property.name)" }
      let isToMany = property.type.arrayElement != nil || property.type.setElement != nil
      return
        "  self.\(property.name) = object.\(isToMany ? "identifiers" : "identifier")(Slots.\(property.name))"
    }
    if let inherited { lines.insert("  self.inherited = \(inherited).Value(object)", at: 0) }
    return function("\(found.access)init(_ object: \(found.name))", lines)
  }

  private func makeObject() -> String {
    function(
      "\(found.access)static func makeObject(in context: StrataModels.ManagedObjectContext) -> \(found.name)",
      ["  \(found.name)(context: context)"])
  }

  private func writing() -> String {
    var lines = properties.map { property in
      property.isRelationship
        ? "  try object.relate(Slots.\(property.name), to: self.\(property.name))"
        : "  if object.\(property.name) != self.\(property.name) { object.\(property.name) = self.\(property.name) }"
    }
    // What the attribute shows where it has no value may be what the value says: then it is set all the same.
    lines = zip(properties, lines).map { property, line in
      property.isRelationship || property.type.isOptional
        ? line
        : "  if object.\(property.name) != self.\(property.name) || !object.hasValue(forKey: \"\(property.key)\") { object.\(property.name) = self.\(property.name) }"
    }
    if inherited != nil { lines.insert("  try self.inherited.write(to: object)", at: 0) }
    return function("\(found.access)func write(to object: \(found.name)) throws", lines)
  }

  private func keys() -> String {
    if properties.isEmpty { return "private enum CodingKeys: Swift.CodingKey {\n}" }
    return
      "private enum CodingKeys: Swift.String, Swift.CodingKey {\n  case \(properties.map(\.name).joined(separator: ", "))\n}"
  }

  private func decoding() -> String {
    var lines: [String] = []
    if let inherited { lines.append("  self.inherited = try \(inherited).Value(from: decoder)") }
    if !properties.isEmpty {
      lines.append("  let container = try decoder.container(keyedBy: CodingKeys.self)")
    }
    lines += properties.map { property in
      let value = initial(of: property).flatMap { $0 == "nil" ? nil : ", absent: \($0)" } ?? ""
      let isOptional = type(of: property).hasSuffix("?")
      return
        "  self.\(property.name) = try container.decode\(isOptional ? "Optional" : "Property")(.\(property.name)\(value))"
    }
    return function("\(found.access)init(from decoder: any Swift.Decoder) throws", lines)
  }

  private func encoding() -> String {
    var lines: [String] = []
    if inherited != nil { lines.append("  try self.inherited.encode(to: encoder)") }
    if properties.isEmpty {
      if inherited == nil { lines.append("  _ = encoder.container(keyedBy: CodingKeys.self)") }
    } else {
      lines.append("  var container = encoder.container(keyedBy: CodingKeys.self)")
      lines += properties.map { property in
        let isOptional = type(of: property).hasSuffix("?")
        return
          "  try container.encode\(isOptional ? "Optional" : "Property")(self.\(property.name), .\(property.name))"
      }
    }
    return function("\(found.access)func encode(to encoder: any Swift.Encoder) throws", lines)
  }

  private func function(_ head: String, _ lines: [String]) -> String {
    lines.isEmpty ? "\(head) {\n}" : "\(head) {\n\(lines.joined(separator: "\n"))\n}"
  }
}
