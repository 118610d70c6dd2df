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
    if name.text == "objc" { optionalRequirement(end + 1) }
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
    // `@objc var` at the beginning of a line can stand on one of its own; in the middle of one it cannot.
    let isFirst = text(line.lowerBound..<range.lowerBound).trimmingBlanks.isEmpty
    if keepsAttributes, isFirst {
      let kept = "#if canImport(ObjectiveC)\n\(indent)\(written)\n\(indent)#endif\n\(indent)"
      replace(range.lowerBound..<end, with: kept, line: number, "\(written) only where there is Objective-C")
    } else {
      replace(range.lowerBound..<end, with: "", line: number, "\(written) deleted")
    }
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
    guard let place = modifiers(index).first(where: { at($0).is("dynamic") }) else { return }
    var end = at(place).range.upperBound
    while end < bytes.count, bytes[end] == UInt8(ascii: " ") { end += 1 }
    replace(at(place).range.lowerBound..<end, with: "", line: at(place).line, "dynamic deleted")
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
