import Foundation
import StrataCore

/// A model as the folder that Xcode edits.
struct XcodeModel {
  private let model: ManagedObjectModel
  private var text = ""
  private var indent = 0

  init(_ model: ManagedObjectModel) { self.model = model }

  /// The model's version identifiers, of which Xcode's files have the first.
  private var identifiers: [String] { model.versionIdentifiers.sorted() }

  /// Writes `Name.xcdatamodeld`, which appears when it is complete.
  func write(to path: String) throws {
    let url = URL(fileURLWithPath: path)
    guard url.pathExtension == "xcdatamodeld" else {
      throw Failure(.usage, "The folder's name ends in “.xcdatamodeld”, and \(path) does not.")
    }
    if access(path, F_OK) == 0 { throw Failure(.exists, "There is a file \(path) already.") }
    let name = url.deletingPathExtension().lastPathComponent
    Leftovers.remove(beside: path, prefix: Leftovers.dumps)
    let draft = Leftovers.name(Leftovers.dumps, beside: path)
    defer { Interruption.discard(draft) }
    let version = URL(fileURLWithPath: draft).appendingPathComponent("\(name).xcdatamodel")
    do {
      try Interruption.makeDraft(draft) {
        if mkdir(draft, 0o755) != 0 { throw OutputError(code: errno, name: path) }
      }
      Leftovers.hold(draft)
      try FileManager.default.createDirectory(at: version, withIntermediateDirectories: false)
      try Data(try contents().utf8).write(to: version.appendingPathComponent("contents"))
      try Data(Self.currentVersion("\(name).xcdatamodel").utf8).write(
        to: URL(fileURLWithPath: draft).appendingPathComponent(".xccurrentversion"))
    } catch let error as CocoaError {
      throw Failure(.output, "\(path) cannot be written: \(error.localizedDescription)")
    }
    let code = Interruption.publish(draft, as: path)
    if code != 0 { throw OutputError(code: code, name: path) }
    if identifiers.count > 1 {
      let others = identifiers.dropFirst().map { "“\($0)”" }.joined(separator: ", ")
      try Output.errors.line(
        "strata: left out: version identifiers \(others), since Xcode's files have one only")
    }
  }

  private static func currentVersion(_ name: String) -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">
    <dict>
    \t<key>_XCCurrentVersionName</key>
    \t<string>\(escaped(name))</string>
    </dict>
    </plist>

    """
  }

  /// The text of `contents`.
  /// - Throws: `Failure` for what Xcode's files have no place for.
  func contents() throws -> String {
    var writer = self
    writer.text = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n"
    let identifier = identifiers.first ?? ""
    writer.open(
      "model",
      [
        ("type", "com.apple.IDECoreDataModeler.DataModel"), ("documentVersion", "1.0"),
        ("sourceLanguage", "Swift"), ("userDefinedModelVersionIdentifier", identifier),
      ])
    for entity in model.entities.sorted(by: { $0.title < $1.title }) { try writer.write(entity) }
    for (name, request) in model.fetchRequestTemplatesByName.sorted(by: { $0.key < $1.key }) {
      writer.empty("fetchRequest", try attributes(of: request, named: name, "fetch request \(name)"))
    }
    for name in model.configurations {
      writer.open("configuration", [("name", name)])
      for member in model.entities(forConfigurationName: name) ?? [] {
        writer.empty("memberEntity", [("name", member.title)])
      }
      writer.close("configuration")
    }
    writer.close("model")
    if writer.text.unicodeScalars.contains(where: Self.isForbidden) {
      throw Self.misplaced("A text of the model with a control character")
    }
    return writer.text
  }

  /// Whether a character may not stand in XML, however it is written.
  private static func isForbidden(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09, 0x0A, 0x0D: false
    case 0..<0x20, 0xFFFE, 0xFFFF: true
    default: false
    }
  }

  private static func misplaced(_ what: String) -> Failure {
    Failure(.model, "\(what) has no place in Xcode's files.", advice: "“strata schema --json” keeps it.")
  }

  private mutating func write(_ entity: EntityDescription) throws {
    var attributes: [(String, String?)] = [
      ("name", entity.title), ("representedClassName", entity.managedObjectClassName),
      ("parentEntity", entity.superentity?.title), ("isAbstract", entity.isAbstract ? "YES" : nil),
      ("elementID", entity.renamingIdentifier == entity.name ? nil : entity.renamingIdentifier),
      ("versionHashModifier", entity.versionHashModifier), ("syncable", "YES"),
    ]
    if attributes[1].1 == "ManagedObject" { attributes[1].1 = "NSManagedObject" }
    open("entity", attributes)
    for property in entity.declaredProperties {
      if let attribute = property as? AttributeDescription {
        try write(attribute, of: entity.title)
      } else if let relationship = property as? RelationshipDescription {
        try write(relationship, of: entity.title)
      } else if let fetched = property as? FetchedPropertyDescription {
        try write(fetched, of: entity.title)
      }
    }
    for index in entity.indexes {
      open("fetchIndex", [("name", index.name), ("partialIndexPredicate", index.condition?.text)])
      for element in index.elements {
        empty(
          "fetchIndexElement",
          [
            ("property", element.propertyName),
            ("type", element.collationType == .rTree ? "RTree" : "Binary"),
            ("order", element.isAscending ? "ascending" : "descending"),
          ])
      }
      close("fetchIndex")
    }
    if !entity.uniquenessConstraints.isEmpty {
      open("uniquenessConstraints", [])
      for constraint in entity.uniquenessConstraints {
        open("uniquenessConstraint", [])
        for name in constraint { empty("constraint", [("value", name)]) }
        close("uniquenessConstraint")
      }
      close("uniquenessConstraints")
    }
    try write(entity.userInfo, "entity \(entity.title)")
    close("entity")
  }

  private func shared(_ property: PropertyDescription) -> [(String, String?)] {
    [
      ("optional", property.isOptional ? "YES" : nil), ("transient", property.isTransient ? "YES" : nil),
      ("elementID", property.renamingIdentifier == property.name ? nil : property.renamingIdentifier),
      ("versionHashModifier", property.versionHashModifier),
    ]
  }

  private mutating func write(_ attribute: AttributeDescription, of owner: String) throws {
    let place = "\(owner).\(attribute.name)"
    let type = attribute.attributeType
    var attributes: [(String, String?)] = [("name", attribute.name)] + shared(attribute)
    attributes += [
      ("attributeType", type.xcodeName),
      ("allowsExternalBinaryDataStorage", attribute.allowsExternalBinaryDataStorage ? "YES" : nil),
      ("preserveAfterDeletion", attribute.preservesValueInHistoryOnDeletion ? "YES" : nil),
      ("customClassName", attribute.attributeValueClassName),
      ("valueTransformerName", type == .transformable ? attribute.valueTransformerName : nil),
    ]
    if let derived = attribute as? DerivedAttributeDescription {
      attributes += [("derived", "YES"), ("derivationExpression", derived.derivationExpression)]
    }
    attributes += try defaults(of: attribute, place) + rules(of: attribute, place)
    if let composite = attribute as? CompositeAttributeDescription {
      open("attribute", attributes)
      for element in composite.elements { try write(element, of: place) }
      try write(attribute.userInfo, "attribute \(place)")
      return close("attribute")
    }
    try element("attribute", attributes, attribute.userInfo, "attribute \(place)")
  }

  private func defaults(of attribute: AttributeDescription, _ place: String) throws -> [(String, String?)] {
    let type = attribute.attributeType
    guard let value = AttributeValue(attribute.defaultValue, type: type), !value.isNull else {
      if attribute.defaultValue != nil, type == .transformable {
        throw Self.misplaced("The default value of the transformable \(place)")
      }
      return []
    }
    return try bound(value, type, "defaultValueString", "defaultDateTimeInterval", place)
  }

  private func bound(
    _ value: AttributeValue, _ type: AttributeType, _ key: String, _ dateKey: String, _ place: String
  ) throws
    -> [(String, String?)]
  {
    switch value {
    case .date(let date): return [(dateKey, "\(date.timeIntervalSinceReferenceDate)")]
    case .boolean(let flag): return [(key, flag ? "YES" : "NO")]
    case .data:
      throw Self.misplaced("A default value of data, as \(place) has,")
    default: return [(key, ValueText.cell(value))]
    }
  }

  private func rules(of attribute: AttributeDescription, _ place: String) throws -> [(String, String?)] {
    var result: [(String, String?)] = []
    for rule in attribute.validationRules {
      if rule.warning != nil { throw Self.misplaced("The warning of a rule, as \(place) has,") }
      switch rule.condition {
      case .minimum(let value):
        result += try bound(value, attribute.attributeType, "minValueString", "minDateTimeInterval", place)
      case .maximum(let value):
        result += try bound(value, attribute.attributeType, "maxValueString", "maxDateTimeInterval", place)
      case .minimumLength(let length): result.append(("minValueString", "\(length)"))
      case .maximumLength(let length): result.append(("maxValueString", "\(length)"))
      case .pattern(let pattern): result.append(("regularExpressionString", pattern))
      case .predicate: break
      }
    }
    if Set(result.map(\.0)).count < result.count {
      throw Self.misplaced("A second rule of one kind, as \(place) has,")
    }
    return result
  }

  private mutating func write(_ relationship: RelationshipDescription, of owner: String) throws {
    let rule =
      switch relationship.deleteRule {
      case .noAction: "No Action"
      case .nullify: "Nullify"
      case .cascade: "Cascade"
      case .deny: "Deny"
      }
    let inverse = relationship.inverseRelationship
    var attributes: [(String, String?)] = [("name", relationship.name)] + shared(relationship)
    attributes += [
      ("toMany", relationship.isToMany ? "YES" : nil),
      ("minCount", relationship.minCount > 0 ? "\(relationship.minCount)" : nil),
      ("maxCount", relationship.maxCount > 0 ? "\(relationship.maxCount)" : nil),
      ("ordered", relationship.isOrdered ? "YES" : nil), ("deletionRule", rule),
      ("destinationEntity", relationship.destinationEntity?.title), ("inverseName", inverse?.name),
      ("inverseEntity", inverse?.entity?.title),
    ]
    try element(
      "relationship", attributes, relationship.userInfo, "relationship \(owner).\(relationship.name)")
  }

  private mutating func write(_ property: FetchedPropertyDescription, of owner: String) throws {
    guard let request = property.fetchRequest else { return }
    let place = "fetched property \(owner).\(property.name)"
    open("fetchedProperty", [("name", property.name)] + shared(property))
    // Xcode gives all of them this name.
    empty("fetchRequest", try attributes(of: request, named: "fetchedPropertyFetchRequest", place))
    try write(property.userInfo, place)
    close("fetchedProperty")
  }

  /// A request, without what is said anyway.
  private func attributes(of request: FetchRequest<ManagedObjectID>, named name: String, _ place: String)
    throws -> [(String, String?)]
  {
    let predicate = request.predicate?.predicateFormat
    let isPlain =
      request.sortDescriptors.isEmpty && request.fetchOffset == 0 && request.propertiesToFetch.isEmpty
      && request.propertiesToGroupBy.isEmpty && request.havingPredicate == nil
      && request.relationshipKeyPathsForPrefetching.isEmpty && request.affectedStores == nil
      && !request.shouldRefreshRefetchedObjects
    let isReadBack = predicate.map { (try? FetchPredicate(format: $0)) == request.predicate } ?? true
    guard isPlain, isReadBack else {
      throw Failure(
        .model, "The \(place) says more than a condition and a limit, which has no place in Xcode's files.")
    }
    return [
      ("name", name), ("entity", request.entityName), ("predicateString", predicate),
      ("fetchLimit", request.fetchLimit > 0 ? "\(request.fetchLimit)" : nil),
      ("fetchBatchSize", request.fetchBatchSize > 0 ? "\(request.fetchBatchSize)" : nil),
      ("includeSubentities", request.includesSubentities ? nil : "NO"),
      ("includePropertyValues", request.includesPropertyValues ? nil : "NO"),
      ("includePendingChanges", request.includesPendingChanges ? nil : "NO"),
      ("returnObjectsAsFaults", request.returnsObjectsAsFaults ? nil : "NO"),
      ("returnDistinctResults", request.returnsDistinctResults ? "YES" : nil),
    ]
  }

  private mutating func write(_ userInfo: [AnyHashable: Any]?, _ place: String) throws {
    guard let userInfo, !userInfo.isEmpty else { return }
    open("userInfo", [])
    for (key, value) in userInfo.map({ ("\($0)", $1) }).sorted(by: { $0.0 < $1.0 }) {
      guard let value = value as? String else {
        throw Self.misplaced("A value that is no text, in the user info of \(place),")
      }
      empty("entry", [("key", key), ("value", value)])
    }
    close("userInfo")
  }

  // MARK: XML

  private mutating func element(
    _ name: String, _ attributes: [(String, String?)], _ userInfo: [AnyHashable: Any]?, _ place: String
  ) throws {
    guard let userInfo, !userInfo.isEmpty else { return empty(name, attributes) }
    open(name, attributes)
    try write(userInfo, place)
    close(name)
  }

  private mutating func open(_ name: String, _ attributes: [(String, String?)]) {
    line("<\(name)\(Self.list(attributes))>")
    indent += 1
  }

  private mutating func close(_ name: String) {
    indent -= 1
    line("</\(name)>")
  }

  private mutating func empty(_ name: String, _ attributes: [(String, String?)]) {
    line("<\(name)\(Self.list(attributes))/>")
  }

  private mutating func line(_ words: String) {
    text += String(repeating: "    ", count: indent) + words + "\n"
  }

  private static func list(_ attributes: [(String, String?)]) -> String {
    attributes.compactMap { name, value in value.map { " \(name)=\"\(escaped($0))\"" } }.joined()
  }

  static func escaped(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      case "\"": result += "&quot;"
      case "\n", "\r", "\t": result += "&#\(scalar.value);"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}
