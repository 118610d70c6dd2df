import Foundation
import StrataCore

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// The source of a mapping model as Xcode's editor keeps it: `xcmapping.xml` in an `.xcmappingmodel`.
///
///     <database>
///       <databaseInfo>…</databaseInfo>
///       <object type="XDDEVMAPPINGMODEL" id="z1">
///         <attribute name="sourcemodelpath" type="string">Shop.xcdatamodeld/Shop.xcdatamodel</attribute>
///         <relationship name="entitymappings" … idrefs="z2 z3"></relationship>
///       </object>
///       <object type="XDDEVENTITYMAPPING" id="z2"> … names, filter, policy; attributemappings, relationshipmappings
///       <object type="XDDEVATTRIBUTEMAPPING" id="z4"> … name, valueexpressiondata
///
/// Nothing is resolved, loaded or expanded: a document type is left out, entities are refused. Size and number of objects are bounded.
struct MappingModelDocument {
  /// What the editor keeps of one mapping.
  struct Object {
    let type: String
    var attributes: [String: String] = [:]
    var references: [String: [String]] = [:]

    func text(_ name: String) -> String? { attributes[name].flatMap { $0.isEmpty ? nil : $0 } }
    func flag(_ name: String) -> Bool? { text(name).map { $0 == "1" || $0.lowercased() == "yes" } }
  }

  /// The most bytes of a source: it has copies of both models in it.
  static let maximumLength = 64 << 20
  static let maximumCount = 250_000

  let objects: [String: Object]
  let model: Object

  /// Reads the source at `url`, an `.xcmappingmodel` or the XML file in it.
  /// - Throws: `CoreDataError` 134110 with what is wrong; what reading a file throws.
  init(contentsOf url: URL) throws {
    var isFolder = ObjCBool(false)
    let isThere = FileManager.default.fileExists(atPath: url.path, isDirectory: &isFolder)
    let file = isThere && isFolder.boolValue ? url.appendingPathComponent("xcmapping.xml") : url
    try self.init(data: try Data(contentsOf: file), file: file.path)
  }

  init(data: Data, file: String) throws {
    func refuse(_ words: String) -> CoreDataError { CoreDataError(.migration, "\(file): \(words)") }
    guard data.count <= Self.maximumLength else {
      throw refuse("The mapping model has more than \(Self.maximumLength) bytes.")
    }
    guard !data.contains(0), var text = String(validating: data, as: UTF8.self) else {
      throw refuse("The mapping model is no UTF-8, the only encoding that is read.")
    }
    if text.range(of: "<!ENTITY") != nil {
      throw refuse("The mapping model has <!ENTITY, which is not read.")
    }
    if let begin = text.range(of: "<!DOCTYPE") {
      guard let end = text.range(of: ">", range: begin.upperBound..<text.endIndex),
        text.range(of: "[", range: begin.upperBound..<end.lowerBound) == nil
      else { throw refuse("The mapping model declares a document type of its own, which is not read.") }
      text.removeSubrange(begin.lowerBound..<end.upperBound)
    }
    let reader = Reader()
    let parser = XMLParser(data: Data(text.utf8))
    parser.shouldResolveExternalEntities = false
    parser.delegate = reader
    let isParsed = parser.parse()
    if let refusal = reader.refusal { throw refuse(refusal) }
    guard isParsed, parser.parserError == nil, reader.isComplete else {
      throw refuse("The mapping model is no well-formed XML: line \(max(1, parser.lineNumber)).")
    }
    guard let model = reader.objects.values.first(where: { $0.type == "XDDEVMAPPINGMODEL" }) else {
      throw refuse("There is no mapping model in the file.")
    }
    objects = reader.objects
    self.model = model
  }

  /// What an object refers to, in the order of the file.
  func referred(_ name: String, by object: Object) -> [Object] {
    (object.references[name] ?? []).compactMap { objects[$0] }
  }

  /// The mappings of entities, as their author has numbered them.
  var entityMappings: [Object] {
    referred("entitymappings", by: model).enumerated().sorted {
      let (left, right) = (Self.number($0.element), Self.number($1.element))
      return (left, $0.offset) < (right, $1.offset)
    }.map(\.element)
  }

  private static func number(_ object: Object) -> Int {
    object.text("mappingnumber").flatMap { Int($0) } ?? .max
  }
}

/// Collects the objects while the parser runs. Lives on the parser's thread only.
private final class Reader: NSObject, XMLParserDelegate {
  private(set) var objects: [String: MappingModelDocument.Object] = [:]
  private(set) var refusal: String?
  private(set) var isComplete = false
  private var depth = 0
  private var current: (identifier: String, object: MappingModelDocument.Object)?
  private var attribute: (name: String, text: String)?

  func parser(
    _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
    qualifiedName qName: String?, attributes attributeDict: [String: String]
  ) {
    depth += 1
    if depth == 1, elementName != "database" {
      refusal = "The outermost element is \(elementName.prefix(40)), not database."
      return parser.abortParsing()
    }
    switch elementName {
    case "object" where depth == 2:
      if objects.count == MappingModelDocument.maximumCount {
        refusal = "There are more than \(MappingModelDocument.maximumCount) objects."
        return parser.abortParsing()
      }
      guard let identifier = attributeDict["id"], let type = attributeDict["type"] else { return }
      current = (identifier, MappingModelDocument.Object(type: type.uppercased()))
    case "attribute" where depth == 3:
      attribute = attributeDict["name"].map { ($0.lowercased(), "") }
    case "relationship" where depth == 3:
      guard let name = attributeDict["name"] else { return }
      current?.object.references[name.lowercased()] = (attributeDict["idrefs"] ?? "").split(separator: " ")
        .map(
          String.init)
    default: break
    }
  }

  func parser(_ parser: XMLParser, foundCharacters string: String) { attribute?.text += string }

  func parser(
    _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?,
    qualifiedName qName: String?
  ) {
    depth -= 1
    if depth == 2, let read = attribute {
      current?.object.attributes[read.name] = read.text
      attribute = nil
    }
    if depth == 1, let read = current {
      objects[read.identifier] = read.object
      current = nil
    }
    if depth == 0 { isComplete = true }
  }
}
