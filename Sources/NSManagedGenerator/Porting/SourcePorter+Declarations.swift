extension SourcePorter {
  /// Modules of Apple's systems that programs with Core Data often import.
  private static let applesModules: Set<String> = [
    "UIKit", "AppKit", "Cocoa", "SwiftUI", "Combine", "CloudKit", "CoreSpotlight", "WidgetKit", "os", "OSLog",
    "MapKit",
    "CoreLocation", "Contacts", "StoreKit", "WatchKit", "ObjectiveC", "Darwin", "CoreGraphics", "AppIntents",
  ]

  /// At `import`.
  mutating func importedModule() {
    let kinds: Set<String> = ["class", "struct", "enum", "protocol", "typealias", "func", "var", "let"]
    let place = kinds.contains(at(position + 1).text) ? position + 2 : position + 1
    let module = at(place).text
    guard frames.isEmpty, Self.applesModules.contains(module) else { return }
    let (line, indent) = line(around: token.range.lowerBound)
    var lines = ["#if canImport(\(module))", text(line).trimmingBlanks, "#endif"]
    if module == "Combine" {
      // What a program imports by name, `import struct Combine.Just`, is in there as well.
      lines.insert(contentsOf: ["#elseif canImport(CoreDataCombine)", "import CoreDataCombine"], at: 2)
      remark(
        "Combine is Apple's: add the product CoreDataCombine to the target's dependencies, which has it from OpenCombine; or put what uses it between #if canImport(Combine) and #endif"
      )
    } else {
      remark("\(module) is Apple's: put what uses it between #if canImport(\(module)) and #endif")
    }
    replace(
      line, with: lines.map { indent + $0 + "\n" }.joined(), line: token.line,
      "import \(module) only where there is \(module)")
    position = place
  }

  /// At `init`: a class of managed objects that has a designated initialiser of its own does not inherit the one that contexts use.
  mutating func initializer() {
    guard let frame = frames.last ?? nil, frame.isManaged, !at(position - 1).is("."),
      !modifiersBefore(position).contains("override"),
      !modifiersBefore(position).contains("convenience"), let body = body(position), let end = closing(body),
      let call = superCall(body..<end)
    else { return }
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

  /// The `super` of `super.init(entity:insertInto:)` or `super.init(context:)`.
  private func superCall(_ indexes: Range<Int>) -> Int? {
    indexes.first {
      at($0).is("super") && at($0 + 1).is(".") && at($0 + 2).is("init") && at($0 + 3).is("(")
        && (at($0 + 4).is("entity") || at($0 + 4).is("context"))
    }
  }

  /// At `override`.
  mutating func overriding() {
    guard let frame = frames.last ?? nil, frame.isExtension else { return }
    remark("an override in an extension needs Objective-C: move it into the class \(frame.name)")
  }

  private static let usages: [String: String] = [
    "NSPersistentCloudKitContainer": "CloudKit is Apple's: use NSPersistentContainer",
    "NSCoreDataCoreSpotlightDelegate": "Spotlight is Apple's",
    "observeValue":
      "key-value observation is Apple's: use did-change notifications, a fetched results controller, or Observation",
    "UIApplication": "UIKit is Apple's", "NSApplication": "AppKit is Apple's",
    "NSApp": "AppKit is Apple's",
  ]

  /// Any other word.
  mutating func usage() {
    if let message = Self.usages[token.text], !at(position - 1).is("import") { return remark(message) }
    switch token.text {
    case "observe" where at(position - 1).is(".") && at(position + 1).is("(") && at(position + 2).is("\\"):
      remark(
        "key-value observation is Apple's: use did-change notifications, a fetched results controller, or Observation"
      )
    case "Bundle" where at(position + 1).is("(") && at(position + 2).is("for"):
      remark("Bundle(for:) finds no resources of a package: use Bundle.module")
    default: break
    }
  }
}
