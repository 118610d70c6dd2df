import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// Reads the entities of a model made with Xcode, for their classes.
///
/// A small reader of its own: the tool runs in every build of every target that uses the plugin and would have to wait for the whole of the product if it read
/// models with its parts. What is wrong with a model beyond its classes is told when it is opened.
final class ModelReader: NSObject, XMLParserDelegate {
  private var entities: [ModelEntity] = []
  private var current: ModelEntity?
  /// The elements around, so that attributes of composite types and of other things are not taken for the entity's.
  private var path: [String] = []
  private var fetchedName: String?
  private let file: String
  private var refusal: Refusal?

  private init(_ file: String) { self.file = file }

  /// The entities of the version that counts: of an `.xcdatamodeld` the one marked as current, or the last one.
  /// - Throws: A sentence with the file's name.
  static func entities(of folder: String) throws -> [ModelEntity] {
    let version = try currentVersion(of: folder)
    let file = version + "/contents"
    guard let data = FileManager.default.contents(atPath: file) else {
      throw Refusal("\(file): error: there is no such file, so the model has no classes")
    }
    // Nothing in a model needs declarations; those could be expanded without end.
    if data.range(of: Data("<!DOCTYPE".utf8)) != nil || data.range(of: Data("<!ENTITY".utf8)) != nil {
      throw Refusal("\(file):1: error: a model has no document type declaration")
    }
    let reader = ModelReader(file)
    let parser = XMLParser(data: data)
    parser.delegate = reader
    let isWhole = parser.parse()
    if let refusal = reader.refusal { throw refusal }
    guard isWhole else {
      throw Refusal(
        "\(file):\(parser.lineNumber): error: this is no XML: \(parser.parserError.map { "\($0)" } ?? "")")
    }
    return reader.entities
  }

  private static func currentVersion(of folder: String) throws -> String {
    if !folder.hasSuffix(".xcdatamodeld") { return folder }
    if let data = FileManager.default.contents(atPath: folder + "/.xccurrentversion") {
      let plist = try? PropertyListSerialization.propertyList(from: data, format: nil)
      guard let name = (plist as? [String: Any])?["_XCCurrentVersionName"] as? String else {
        throw Refusal(
          "\(folder)/.xccurrentversion: error: this is no property list with the key _XCCurrentVersionName")
      }
      return folder + "/" + name
    }
    let versions = try FileManager.default.contentsOfDirectory(atPath: folder).filter {
      $0.hasSuffix(".xcdatamodel")
    }
    let last = versions.max { a, b in
      let (left, right) = (a.dropLast(".xcdatamodel".count), b.dropLast(".xcdatamodel".count))
      let order = String(left).compare(String(right), options: [.numeric, .caseInsensitive])
      return order == .orderedSame ? a < b : order == .orderedAscending
    }
    guard let last else { throw Refusal("\(folder): error: the model has no version") }
    return folder + "/" + last
  }

  // MARK: XMLParserDelegate

  func parser(
    _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
    attributes: [String: String]
  ) {
    let around = path.last
    path.append(element)
    let name = attributes["name"] ?? ""
    switch (element, around) {
    case ("entity", "model"):
      check(name, parser)
      current = ModelEntity(
        name: name, className: attributes["representedClassName"].flatMap { $0.isEmpty ? nil : $0 },
        code: attributes["codeGenerationType"].flatMap(ModelEntity.Code.init),
        parent: attributes["parentEntity"], place: "\(file):\(parser.lineNumber)")
    case ("attribute", "entity"):
      check(name, parser)
      if let type = attributes["customClassName"], !type.isEmpty { check(type: type, parser) }
      current?.attributes.append(
        .init(
          name: name, type: attributes["attributeType"] ?? "",
          isScalar: attributes["usesScalarValueType"] == "YES",
          customClass: attributes["customClassName"].flatMap { $0.isEmpty ? nil : $0 }))
    case ("relationship", "entity"):
      check(name, parser)
      current?.relationships.append(
        .init(
          name: name, destination: attributes["destinationEntity"] ?? "",
          isToMany: attributes["toMany"] == "YES",
          isOrdered: attributes["ordered"] == "YES"))
    case ("fetchedProperty", "entity"):
      check(name, parser)
      fetchedName = name
    case ("fetchRequest", "fetchedProperty"):
      if let fetchedName { current?.fetched.append((fetchedName, attributes["entity"] ?? "")) }
    default: break
    }
  }

  func parser(
    _ parser: XMLParser, didEndElement element: String, namespaceURI: String?, qualifiedName: String?
  ) {
    path.removeLast()
    if element == "fetchedProperty" { fetchedName = nil }
    guard element == "entity", path.last == "model", let entity = current else { return }
    entities.append(entity)
    current = nil
  }

  /// What is named as an attribute's class becomes code: it must be a type and nothing else.
  private func check(type: String, _ parser: XMLParser) {
    if !TypeSpelling.isType(type), refusal == nil {
      refusal = Refusal("\(file):\(parser.lineNumber): error: “\(type)” cannot be the class of an attribute")
      parser.abortParsing()
    }
  }

  /// Names become code: they must be names.
  private func check(_ name: String, _ parser: XMLParser) {
    if !Spelling.isName(name), refusal == nil {
      refusal = Refusal("\(file):\(parser.lineNumber): error: “\(name)” cannot be a name in Swift")
      parser.abortParsing()
    }
  }
}
