import Foundation

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// An element of a model's XML with all below it.
struct XcodeElement {
  let name: String
  let attributes: [String: String]
  var children: [XcodeElement] = []
  /// Where its tag ends, from 1.
  let line: Int

  /// The children of that name.
  func children(named name: String) -> [XcodeElement] { children.filter { $0.name == name } }
}

/// Reads XML of unknown origin into a tree.
///
/// Nothing is resolved, loaded or expanded: the text must be UTF-8 without a document type, so that there are no entities but the
/// five of XML itself. Its size, depth and number of elements are bounded before anything is made of it.
enum XcodeDocument {
  /// The most bytes of a description: 8 MiB, below what XML parsers bound by themselves, each in its own way.
  static let maximumLength = 8 << 20
  /// The most elements inside each other.
  static let maximumDepth = 16
  /// The most elements altogether.
  static let maximumCount = 250_000

  /// - Throws: `ModelError` with one sentence, without the file's name.
  static func root(of data: Data) throws(ModelError) -> XcodeElement {
    guard data.count <= maximumLength else {
      throw ModelError("The description has more than \(maximumLength) bytes.")
    }
    try checkText(data)
    let builder = TreeBuilder()
    let parser = XMLParser(data: data)
    parser.shouldResolveExternalEntities = false
    parser.delegate = builder
    let isParsed = parser.parse()
    if let refusal = builder.refusal { throw ModelError(refusal) }
    // Some parsers call a truncated text parsed: what counts is that the outermost element has ended.
    guard isParsed, parser.parserError == nil, builder.isComplete, let root = builder.root else {
      throw ModelError("The description is no well-formed XML: line \(max(1, parser.lineNumber)).")
    }
    return root
  }

  private static func checkText(_ data: Data) throws(ModelError) {
    guard !data.contains(0), String(validating: data, as: UTF8.self) != nil else {
      throw ModelError("The description is no UTF-8, the only encoding that is read.")
    }
    for mark in ["<!DOCTYPE", "<!ENTITY"] where data.range(of: Data(mark.utf8)) != nil {
      throw ModelError("The description contains \(mark), which no model needs and which is not read.")
    }
    guard let declared = declaredEncoding(data) else { return }
    guard ["utf-8", "utf8", "us-ascii", "ascii"].contains(declared.lowercased()) else {
      throw ModelError(
        "The description is declared as \(declared.prefix(40)); UTF-8 is the only encoding that is read.")
    }
  }

  /// What the XML declaration, if there is one, says between the quotes after `encoding`.
  private static func declaredEncoding(_ data: Data) -> String? {
    let start = String(decoding: data.prefix(300), as: UTF8.self)
    guard let end = start.range(of: "?>"), let key = start.range(of: "encoding"),
      key.upperBound <= end.lowerBound
    else { return nil }
    let rest = start[key.upperBound..<end.lowerBound]
    return rest.split(omittingEmptySubsequences: true) { "=\"' \t\r\n".contains($0) }.first.map(String.init)
      ?? ""
  }
}

/// Builds the tree while the parser runs. Lives on the parser's thread only.
private final class TreeBuilder: NSObject, XMLParserDelegate {
  private(set) var root: XcodeElement?
  private(set) var refusal: String?
  private var open: [XcodeElement] = []
  private var count = 0

  var isComplete: Bool { root != nil && open.isEmpty }

  func parser(
    _ parser: XMLParser, didStartElement elementName: String, namespaceURI: String?,
    qualifiedName qName: String?, attributes attributeDict: [String: String]
  ) {
    count += 1
    if open.count == XcodeDocument.maximumDepth {
      return refuse(parser, "There are more than \(XcodeDocument.maximumDepth) elements inside each other")
    }
    if count > XcodeDocument.maximumCount {
      return refuse(parser, "There are more than \(XcodeDocument.maximumCount) elements")
    }
    open.append(XcodeElement(name: elementName, attributes: attributeDict, line: parser.lineNumber))
  }

  func parser(
    _ parser: XMLParser, didEndElement elementName: String, namespaceURI: String?,
    qualifiedName qName: String?
  ) {
    guard refusal == nil, let element = open.popLast() else { return }
    if open.isEmpty { root = element } else { open[open.count - 1].children.append(element) }
  }

  private func refuse(_ parser: XMLParser, _ words: String) {
    guard refusal == nil else { return }
    refusal = "\(words): line \(max(1, parser.lineNumber))."
    open = []
    parser.abortParsing()
  }
}
