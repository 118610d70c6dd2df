import Foundation
import Testing

/// What the package's manifest says of macros. `Scripts/check-products` asks the package manager the same of every executable as well.
struct MacroProductsTests {
  private let manifest: String

  init() throws {
    manifest = try String(contentsOf: repository.appendingPathComponent("Package.swift"), encoding: .utf8)
  }

  /// The names in quotation marks behind `key`, up to the bracket that ends the list.
  private func names(after key: String, in text: Substring) -> Set<String> {
    guard let start = text.range(of: key) else { return [] }
    let list = text[start.upperBound...].prefix { $0 != "]" }
    return Set(
      list.split(separator: "\"", omittingEmptySubsequences: false).enumerated().compactMap {
        $0.offset % 2 == 1 ? String($0.element) : nil
      })
  }

  /// Each target's text, by its name.
  private var targets: [String: Substring] {
    var found: [String: Substring] = [:]
    let starts = manifest.ranges(of: /\.(target|executableTarget|testTarget|macro)\(\s*name: "(\w+)"/)
    for (place, start) in starts.enumerated() {
      let end = place + 1 < starts.count ? starts[place + 1].lowerBound : manifest.endIndex
      let text = manifest[start.lowerBound..<end]
      if let name = text.split(separator: "\"").dropFirst().first { found[String(name)] = text }
    }
    return found
  }

  @Test("R2: of the libraries only SwiftData and StrataModels lead to swift-syntax")
  func libraries() throws {
    let targets = targets
    var leading = Set(
      targets.filter { $0.value.contains("swiftSyntax") || $0.value.contains("package: \"swift-syntax\"") }
        .keys)
    #expect(leading.isSuperset(of: ["SwiftDataMacros", "StrataModelMacros"]))
    while true {
      let more = targets.filter { name, text in
        !leading.contains(name) && !names(after: "dependencies:", in: text).isDisjoint(with: leading)
      }
      if more.isEmpty { break }
      leading.formUnion(more.keys)
    }
    var libraries: [String: Bool] = [:]
    for match in manifest.matches(of: /\.library\(name: "(\w+)"/) {
      let list = names(after: "targets:", in: manifest[match.range.upperBound...])
      libraries[String(match.1)] = !list.isDisjoint(with: leading)
    }
    #expect(
      libraries["Strata"] == false && libraries["StrataCore"] == false && libraries["CoreData"] == false)
    #expect(Set(libraries.filter(\.value).keys) == ["SwiftData", "StrataModels"])
  }
}
