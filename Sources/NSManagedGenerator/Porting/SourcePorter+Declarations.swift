extension SourcePorter {
  /// At `import`.
  mutating func importedModule() {
    let kinds: Set<String> = ["class", "struct", "enum", "protocol", "typealias", "func", "var", "let"]
    let place = kinds.contains(at(position + 1).text) ? position + 2 : position + 1
    let module = at(place).text
    guard frames.isEmpty, AppleModules.names.contains(module) else { return }
    var first = position
    while first > 0, at(first - 1).line == token.line, !at(first - 1).is(";") { first -= 1 }
    var last = place
    while at(last + 1).line == token.line, at(last + 1).kind != .end, !at(last + 1).is(";") { last += 1 }
    let (line, indent) = line(around: token.range.lowerBound)
    let isOnly = !at(first - 1).is(";") && !at(last + 1).is(";")
    let statement = isOnly ? line : at(first).range.lowerBound..<at(last).range.upperBound
    var lines = ["#if canImport(\(module))", text(statement).trimmingBlanks, "#endif"]
    if module == "Combine" {
      // What a program imports by name, `import struct Combine.Just`, is in there as well.
      lines.insert(contentsOf: ["#elseif canImport(CoreDataCombine)", "import CoreDataCombine"], at: 2)
      remark(
        "Combine is Apple's: add the product CoreDataCombine to the target's dependencies, which has it from OpenCombine; or put what uses it between #if canImport(Combine) and #endif"
      )
    } else {
      remark("\(module) is Apple's: put what uses it between #if canImport(\(module)) and #endif")
    }
    let message = "import \(module) only where there is \(module)"
    if isOnly {
      replace(line, with: lines.map { indent + $0 + "\n" }.joined(), line: token.line, message)
    } else {
      separate(first...last, line.lowerBound, lines.map { indent + $0 }.joined(separator: "\n"), message)
    }
    position = last
  }

  /// A statement among others of its line goes to lines of its own, as directives need.
  private mutating func separate(_ indexes: ClosedRange<Int>, _ line: Int, _ new: String, _ message: String) {
    let (before, behind) = (at(indexes.lowerBound - 1), at(indexes.upperBound + 1))
    var (start, end, text) = (line, at(indexes.upperBound).range.upperBound, new)
    if before.is(";"), before.line == token.line {
      start = before.range.lowerBound
      // The one before it may have taken the sign along.
      if let last = replacements.last, last.range.upperBound > start {
        start = last.range.upperBound
      } else {
        text = "\n" + text
      }
    }
    if behind.is(";") {
      let next = at(indexes.upperBound + 2)
      end = behind.range.upperBound
      if next.line == token.line, next.kind != .end {
        end = next.range.lowerBound
        text += "\n"
      }
    }
    replace(start..<end, with: text, line: token.line, message)
  }

  /// At `init`: a class of managed objects that has a designated initialiser of its own does not inherit the one that contexts use.
  mutating func initializer() {
    guard let frame = frames.last ?? nil, frame.isManaged, !at(position - 1).is("."),
      !modifiersBefore(position).contains("convenience"), let body = body(position), let end = closing(body),
      let call = superCall(body..<end)
    else { return }
    if modifiersBefore(position).contains("override") {
      if at(position + 1).is("("), !["entity", "context"].contains(at(position + 2).text) {
        remark(
          "the initialiser that this one overrides is to become a convenience initialiser, which cannot be called by super: put what it adds into a method, and delete it"
        )
      }
      return
    }
    let start = token
    replace(
      start.range.lowerBound..<start.range.lowerBound, with: "convenience ", line: start.line,
      "init → convenience init")
    replace(at(call).range, with: "self", line: at(call).line, "super.init → self.init")
    // A convenience initialiser may use `self` only behind the call.
    let early = (body..<call).contains { at($0).is("self") && at($0 + 1).is(".") && !at($0 + 2).is("init") }
    if early {
      remark("a convenience initialiser sets properties behind self.init(…), not before it", line: start.line)
    }
  }

  private func modifiersBefore(_ index: Int) -> Set<String> {
    var words: Set<String> = []
    var index = index - 1
    while index >= 0, at(index).kind == .word || at(index).is(")") {
      if at(index).kind == .word { words.insert(at(index).text) }
      if at(index).is(")")
        || ![
          "public", "open", "internal", "private", "fileprivate", "override", "convenience", "required",
          "nonisolated", "package",
        ].contains(at(index).text)
      {
        break
      }
      index -= 1
    }
    return words
  }

  /// The brace that opens the body of the initialiser at `index`.
  private func body(_ index: Int) -> Int? {
    var next = index + 1
    while at(next).is("?") || at(next).is("!") { next += 1 }
    guard at(next).is("("), let close = closing(next) else { return nil }
    next = close + 1
    while at(next).kind != .end, !at(next).is("{") {
      if at(next).is("}") { return nil }
      next += 1
    }
    return at(next).kind == .end ? nil : next
  }

  /// The `super` of a call of an initialiser of the superclass, which is one of `NSManagedObject`'s or becomes a convenience initialiser, too:
  /// a class all of whose initialisers are inherits those.
  private func superCall(_ indexes: Range<Int>) -> Int? {
    indexes.first { at($0).is("super") && at($0 + 1).is(".") && at($0 + 2).is("init") && at($0 + 3).is("(") }
  }

  /// At `override`.
  mutating func overriding() {
    guard let frame = frames.last ?? nil, frame.isExtension else { return }
    remark("an override in an extension needs Objective-C: move it into the class \(frame.name)")
  }

  private static let observation =
    "key-value observation is Apple's: use did-change notifications, a fetched results controller, or Observation"
  private static let usages: [String: String] = [
    "NSPersistentCloudKitContainer": "CloudKit is Apple's: use NSPersistentContainer",
    "NSPersistentCloudKitContainerOptions":
      "CloudKit is Apple's: put it between #if canImport(CloudKit) and #endif",
    "cloudKitContainerOptions": "CloudKit is Apple's: put it between #if canImport(CloudKit) and #endif",
    "NSCoreDataCoreSpotlightDelegate": "Spotlight is Apple's",
    "observeValue": observation, "automaticallyNotifiesObservers": observation,
    "UIApplication": "UIKit is Apple's", "NSApplication": "AppKit is Apple's",
    "NSApp": "AppKit is Apple's",
    "os_log": "os_log is Apple's: put it between #if canImport(os) and #endif",
    "NSDiffableDataSourceSnapshotReference":
      "snapshots are UIKit's: use the delegate's methods for sections and objects, or controllerDidChangeContent(_:)",
  ]
  private static let combine: Set<String> = [
    "ObservableObject", "AnyCancellable", "AnyPublisher", "PassthroughSubject", "CurrentValueSubject",
  ]

  /// Any other word.
  mutating func usage() {
    if at(position - 1).is("import") { return }
    if let message = Self.usages[token.text] { return remark(message) }
    if Self.combine.contains(token.text) { return needsCombine(token.text) }
    switch token.text {
    case "observe" where at(position - 1).is(".") && at(position + 1).is("(") && at(position + 2).is("\\"):
      remark(Self.observation)
    case "Bundle" where at(position + 1).is("(") && at(position + 2).is("for"):
      remark("Bundle(for:) finds no resources of a package: use Bundle.module")
    case "Logger" where at(position + 1).is("(") && imports(["os", "OSLog"]):
      remark("Logger is Apple's: put it between #if canImport(os) and #endif")
    case "Selector" where at(position + 1).is("(") && at(position + 2).is("("):
      remark("there are no selectors without Objective-C; pass a closure")
    case "FileProtectionType": fileProtection()
    case "replaceItemAt", "replaceItem": replacedItem()
    case "archivedData": archive()
    default: break
    }
  }

  /// At the name of a method that replaces a file, if it is `FileManager`'s.
  private mutating func replacedItem() {
    guard at(position + 1).is("("), let close = closing(position + 1),
      (position + 2..<close).contains(where: { at($0).is("withItemAt") && at($0 + 1).is(":") })
    else { return }
    remark(
      "Foundation on Linux throws here, and the file that was to be replaced is gone: replacePersistentStore for a store, else removeItem and moveItem"
    )
  }

  /// `name` is Combine's, which Apple's CoreData brings along.
  mutating func needsCombine(_ name: String) {
    guard !imports(["Combine", "CoreDataCombine"]), saidOnce.insert("Combine").inserted else { return }
    remark("\(name) is Combine's, which Apple's CoreData brings along: write import Combine, and port again")
  }

  private func imports(_ modules: Set<String>) -> Bool {
    fileTokens.indices.contains { index in
      modules.contains(fileTokens[index].text)
        && (fileTokens[max(index - 1, 0)].is("import") || fileTokens[max(index - 2, 0)].is("import"))
    }
  }
}
