extension SourcePorter {
  /// Attributes that need the Objective-C runtime.
  private static let unknown: Set<String> = [
    "objc", "objcMembers", "NSCopying", "IBOutlet", "IBAction", "IBInspectable", "IBDesignable",
    "IBSegueAction",
    "GKInspectable",
  ]
  private static let entryPoints: Set<String> = ["UIApplicationMain", "NSApplicationMain"]

  /// At `@`.
  mutating func attribute() {
    let name = at(position + 1)
    guard name.kind == .word, !name.followsSpace else { return }
    if Self.entryPoints.contains(name.text) {
      return remark("@\(name.text): write a main.swift, or @main, for this system")
    }
    guard Self.unknown.contains(name.text) else {
      if name.text == "Published" { needsCombine(name.text) }
      if name.text == "FetchRequest" || name.text == "SectionedFetchRequest" || name.text == "ObservedObject"
      {
        remark("@\(name.text) is SwiftUI's: use a fetched results controller, or Observation")
      }
      return
    }
    var end = position + 1
    if at(position + 2).is("("), !at(position + 2).followsSpace, let close = closing(position + 2) {
      end = close
    }
    delete(position..<end + 1, name.text)
    if name.text == "objc" {
      optionalRequirement(end + 1)
      if end == position + 4 {
        nameInModels(at(position + 3).text, end + 1)
        nameOfProperty(at(position + 3).text, end + 1)
      }
    }
    if name.text == "objc" || name.text == "IBInspectable" { dynamicModifier(end + 1) }
    position = end
  }

  private mutating func delete(_ indexes: Range<Int>, _ name: String) {
    let range = at(indexes.lowerBound).range.lowerBound..<at(indexes.upperBound - 1).range.upperBound
    let (written, number) = (text(range), at(indexes.lowerBound).line)
    let (line, indent) = line(around: range.lowerBound)
    if isAlone(range) {
      let kept = "\(indent)#if canImport(ObjectiveC)\n\(indent)\(written)\n\(indent)#endif\n"
      replace(
        line, with: keepsAttributes ? kept : "", line: number,
        keepsAttributes ? "\(written) only where there is Objective-C" : "\(written) deleted")
      return
    }
    var end = range.upperBound
    while end < bytes.count, bytes[end] == UInt8(ascii: " ") || bytes[end] == UInt8(ascii: "\t") { end += 1 }
    // At the beginning of a line, or behind other attributes, it can stand on lines of its own; behind a modifier it cannot.
    let isFirst = text(line.lowerBound..<range.lowerBound).trimmingBlanks.isEmpty
    if keepsAttributes, isFirst || followsAttributesOnly(indexes.lowerBound) {
      let kept = "#if canImport(ObjectiveC)\n\(indent)\(written)\n\(indent)#endif\n\(indent)"
      var start = range.lowerBound
      while !isFirst, start > 0, [UInt8(ascii: " "), UInt8(ascii: "\t")].contains(bytes[start - 1]) {
        start -= 1
      }
      replace(
        start..<end, with: (isFirst ? "" : "\n\(indent)") + kept, line: number,
        "\(written) only where there is Objective-C")
    } else {
      replace(range.lowerBound..<end, with: "", line: number, "\(written) deleted")
    }
  }

  /// Whether its line has nothing but attributes before the one at `index`.
  private func followsAttributesOnly(_ index: Int) -> Bool {
    var next = index
    while next > 0, at(next - 1).line == at(index).line { next -= 1 }
    while next < index {
      guard at(next).is("@"), at(next + 1).isName else { return false }
      next += 2
      if at(next).is("("), !at(next).followsSpace, let close = closing(next) { next = close + 1 }
    }
    return next == index
  }

  /// The words between an attribute and what it belongs to.
  private func modifiers(_ index: Int) -> Range<Int> {
    let words: Set<String> = [
      "public", "open", "internal", "private", "fileprivate", "final", "override", "weak", "unowned", "lazy",
      "static",
      "class", "dynamic", "optional", "nonisolated", "required", "convenience", "mutating", "package",
    ]
    var end = index
    while words.contains(at(end).text), at(end).kind == .word {
      end += 1
      // `private(set)`
      if at(end).is("("), !at(end).followsSpace, let close = closing(end) { end = close + 1 }
    }
    return index..<end
  }

  private mutating func dynamicModifier(_ index: Int) {
    // Swift has the word without Objective-C too, and on Apple's systems it is what is observed.
    guard !keepsAttributes, let place = modifiers(index).first(where: { at($0).is("dynamic") }) else {
      return
    }
    if isAlone(at(place).range) {
      let line = line(around: at(place).range.lowerBound).range
      return replace(line, with: "", line: at(place).line, "dynamic deleted")
    }
    var end = at(place).range.upperBound
    while end < bytes.count, bytes[end] == UInt8(ascii: " ") { end += 1 }
    replace(at(place).range.lowerBound..<end, with: "", line: at(place).line, "dynamic deleted")
  }

  /// A class of managed objects that models may know by a name that nothing but Objective-C finds.
  private mutating func nameInModels(_ name: String, _ index: Int) {
    let place = modifiers(index).upperBound
    let own = at(place)
    guard at(place - 1).is("class"), folder.managedClasses.contains(own.text) else { return }
    let outer = frames.compactMap { $0?.name }
    if !outer.isEmpty {
      let path = (outer + [own.text]).joined(separator: ".")
      remark(
        "no name in a model finds the nested class \(path): set the entity's managedObjectClass = \(path).self, or move it out"
      )
    } else if own.text != name {
      remark("a model finds the class \(own.text) by no other name: write \(own.text) for \(name) in it")
    }
  }

  /// A managed property that has another name in the model: what the plugin is told, on a line of its own before the declaration.
  private mutating func nameOfProperty(_ name: String, _ index: Int) {
    guard let frame = frames.last ?? nil else { return }
    var (next, isManaged) = (index, isBehindManaged(position))
    while true {
      next = modifiers(next).upperBound
      guard at(next).is("@"), at(next + 1).isName else { break }
      isManaged = isManaged || at(next + 1).is("NSManaged")
      next += 2
      if at(next).is("("), !at(next).followsSpace, let close = closing(next) { next = close + 1 }
    }
    guard at(next).is("var"), at(next + 1).isName, at(next + 1).text != name else { return }
    let property = (frames.compactMap { $0?.name } + [at(next + 1).text]).joined(separator: ".")
    guard isManaged else {
      if frame.isManaged {
        remark(
          "no key path or predicate finds \(property) as “\(name)”, its name to Objective-C: give it that name"
        )
      }
      return
    }
    let (line, indent) = line(around: token.range.lowerBound)
    replace(
      line.lowerBound..<line.lowerBound, with: "\(indent)// NSManaged: \(property) has the key \(name)\n",
      line: token.line, "\(property) has the key \(name): a remark for the plugin")
  }

  /// Whether `@NSManaged` stands among the attributes and modifiers before `index`.
  private func isBehindManaged(_ index: Int) -> Bool {
    var index = index - 1
    while index >= 0 {
      if at(index).is("NSManaged") { return at(index - 1).is("@") }
      guard
        at(index).isName && !["func", "var", "let"].contains(at(index).text) || at(index).is("@")
          || at(index).is("(") || at(index).is(")")
      else { return false }
      index -= 1
    }
    return false
  }

  private mutating func optionalRequirement(_ index: Int) {
    guard (frames.last ?? nil)?.isProtocol == true,
      modifiers(index).contains(where: { at($0).is("optional") })
    else {
      return
    }
    remark(
      "an optional requirement needs Objective-C: delete `optional`, and implement it in an extension of the protocol"
    )
  }
}
