/// Makes the edits that source for Apple's Core Data needs elsewhere, and says what is left to do by hand.
///
/// | in the source | becomes |
/// |---|---|
/// | `@objc`, `@objc(Name)`, `@objcMembers`, `@objc dynamic`, `@NSCopying`, `@IBOutlet` … | nothing, or stands in `#if canImport(ObjectiveC)` |
/// | `@NSManaged @objc(owner) var _owner` | `@NSManaged var _owner` with `// NSManaged: Book._owner has the key owner` before it |
/// | `#keyPath(Book.author.name)` | `"author.name"` |
/// | `NSStringFromSelector(#selector(getter: Book.title))` | `"title"` |
/// | `#selector(NSString.caseInsensitiveCompare(_:))` | `Selector("caseInsensitiveCompare:")` |
/// | `addObserver(self, selector: #selector(saved(_:)), name: n, object: o)` | `addObserver(self, name: n, object: o) { $0.saved($1) }` |
/// | `Book.fetchRequest() as! NSFetchRequest<NSFetchRequestResult>` | the same with `as` |
/// | `request as! NSFetchRequest<Book>`, of what certainly is a request | `NSFetchRequest<Book>(request)` |
/// | `request as? NSFetchRequest<NSFetchRequestResult>`, of the same | `Optional(NSFetchRequest<NSFetchRequestResult>(request))` |
/// | `FileProtectionType.complete as NSObject` | `FileProtectionType.complete.rawValue as NSString` |
/// | a managed object class's `init(…)` that calls `super.init(…)` | `convenience init(…)` that calls `self.init` |
/// | `import UIKit`, and other modules of Apple's | the same in `#if canImport(UIKit)` |
/// | `import Combine` | the same in `#if canImport(Combine)`, and `import CoreDataCombine` elsewhere |
///
/// Works on tokens: what is in comments, texts and code for Apple's systems alone stays as it is.
struct SourcePorter {
  let bytes: [UInt8]
  /// Those of the file, or of the code in a text while that is looked at.
  private(set) var tokens: [Token]
  let fileTokens: [Token]
  /// The methods that the file declares.
  let methods: [String: Set<[FolderFacts.Parameter]>]
  let folder: FolderFacts
  let keepsAttributes: Bool
  private(set) var replacements: [Replacement] = []
  private(set) var remarks: [PortedSource.Remark] = []
  var position = 0
  /// What the open braces belong to; nil for bodies.
  private(set) var frames: [Frame?] = []
  private var conditions = ConditionStack()
  /// The code in a text that is looked at.
  private(set) var interpolation: Interpolation?
  /// A selector that an observer's closure has taken the place of.
  var handledSelector: Int?
  /// What has been said and is said once in a file.
  var saidOnce: Set<String> = []
  private let endsLinesWithReturn: Bool
  /// The frame that the next brace opens.
  private var coming: Frame?

  /// A type or an extension that is open.
  struct Frame {
    let name: String
    let isExtension: Bool
    let isClass: Bool
    let isProtocol: Bool
    let isManaged: Bool
  }

  static func port(_ bytes: [UInt8], _ folder: FolderFacts, keepsAttributes: Bool) -> PortedSource {
    var porter = SourcePorter(bytes: bytes, folder: folder, keepsAttributes: keepsAttributes)
    porter.run()
    return PortedSource(bytes, porter.replacements, porter.remarks)
  }

  private init(bytes: [UInt8], folder: FolderFacts, keepsAttributes: Bool) {
    self.bytes = bytes
    fileTokens = Lexer.tokens(of: bytes)
    tokens = fileTokens
    methods = FolderFacts.methods(in: fileTokens)
    self.folder = folder
    self.keepsAttributes = keepsAttributes
    let end = bytes.firstIndex(of: UInt8(ascii: "\n"))
    endsLinesWithReturn = end.map { $0 > 0 && bytes[$0 - 1] == UInt8(ascii: "\r") } ?? false
  }

  func at(_ index: Int) -> Token { tokens[min(max(index, 0), tokens.count - 1)] }
  var token: Token { at(position) }

  private mutating func run() {
    while token.kind != .end {
      if token.kind == .directive {
        conditions.apply(token.text)
      } else if Conditions.areImpossible(conditions.current) {
        // For Apple's systems alone. Braces count all the same.
        trackBraces()
      } else {
        trackBraces()
        look()
      }
      position += 1
    }
  }

  /// The code in a text.
  private mutating func interpolations(of text: Token) {
    let outer = (tokens, position, frames, coming, interpolation)
    for part in text.interpolations {
      (tokens, position, interpolation) = (part.tokens, 0, part)
      run()
    }
    (tokens, position, frames, coming, interpolation) = outer
  }

  private mutating func trackBraces() {
    switch token.kind {
    case .sign where token.text == "{":
      frames.append(coming)
      coming = nil
    case .sign where token.text == "}": _ = frames.popLast()
    case .word where ["class", "struct", "enum", "actor", "protocol", "extension"].contains(token.text):
      openType()
    default: break
    }
  }

  private mutating func openType() {
    let name = at(position + 1)
    guard name.isName, !at(position - 1).is("."),
      !["func", "var", "let", "subscript", "init", "override", "final"].contains(name.text)
    else { return }
    var path = name.text
    var next = position + 2
    while at(next).is("."), at(next + 1).isName {
      path = at(next + 1).text
      next += 2
    }
    coming = Frame(
      name: path, isExtension: token.is("extension"), isClass: token.is("class"),
      isProtocol: token.is("protocol"),
      isManaged: folder.managedClasses.contains(path))
  }

  private mutating func look() {
    switch token.kind {
    case .sign where token.text == "@": attribute()
    case .sign where token.text == "#":
      if at(position + 1).is("keyPath") { keyPath() }
      if at(position + 1).is("selector") { selector() }
    case .word: word()
    case .literal: interpolations(of: token)
    default: break
    }
  }

  private mutating func word() {
    switch token.text {
    case "import": importedModule()
    case "as": cast()
    case "addObserver": observer()
    case "NSStringFromSelector": selectorName()
    case "init": initializer()
    case "override": overriding()
    default: usage()
    }
  }

  // MARK: Writing

  mutating func replace(_ range: Range<Int>, with text: String, line: Int, _ message: String) {
    let text = endsLinesWithReturn ? text.map { $0 == "\n" ? "\r\n" : String($0) }.joined() : text
    replacements.append(Replacement(range: range, text: text, line: line, message: message))
  }

  mutating func remark(_ message: String, line: Int? = nil) {
    remarks.append(PortedSource.Remark(line: line ?? token.line, message: message))
  }

  func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  /// The index of the bracket that closes the one at `index`; nil when there is none.
  func closing(_ index: Int) -> Int? {
    var depth = 0
    var index = index
    while at(index).kind != .end {
      if at(index).kind == .sign {
        if ["(", "[", "{"].contains(at(index).text) { depth += 1 }
        if [")", "]", "}"].contains(at(index).text) { depth -= 1 }
        if depth == 0 { return index }
      }
      index += 1
    }
    return nil
  }

  /// The bytes of the line that a place is in, its end included, and the blanks that it begins with.
  func line(around place: Int) -> (range: Range<Int>, indent: String) {
    var start = place
    while start > 0, bytes[start - 1] != UInt8(ascii: "\n") { start -= 1 }
    // A mark at the beginning of the file belongs to no line.
    if start == 0, bytes.starts(with: [0xEF, 0xBB, 0xBF]) { start = min(3, place) }
    var end = place
    while end < bytes.count, bytes[end] != UInt8(ascii: "\n") { end += 1 }
    var first = start
    while first < end, bytes[first] == UInt8(ascii: " ") || bytes[first] == UInt8(ascii: "\t") { first += 1 }
    return (start..<min(end + 1, bytes.count), text(start..<first))
  }

  /// Whether a range is all that its line has besides blanks.
  func isAlone(_ range: Range<Int>) -> Bool {
    let line = line(around: range.lowerBound).range
    guard line.contains(range.upperBound - 1) || range.upperBound == line.upperBound else { return false }
    func isBlank(_ part: Range<Int>) -> Bool {
      bytes[part].allSatisfy {
        [UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"), UInt8(ascii: "\n")].contains($0)
      }
    }
    return isBlank(line.lowerBound..<range.lowerBound)
      && isBlank(range.upperBound..<max(line.upperBound, range.upperBound))
  }
}
