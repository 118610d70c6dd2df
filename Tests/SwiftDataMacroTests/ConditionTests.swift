import SwiftIfConfig
import SwiftSyntaxMacrosGenericTestSupport
import Testing

@Suite("What @Model makes of #if")
struct ConditionTests {
  private func lines(
    _ members: String, of head: String = "final class Trip", isSubmodel: Bool = false,
    build: StaticBuildConfiguration? = nil
  ) -> [String] {
    Expanding.lines("@Model \(head) {\n\(members)\n}", isSubmodel: isSubmodel, build: build)
  }

  private func entry(_ name: String, _ metadata: String = "nil", default value: String = "nil") -> String {
    "SwiftData.Schema.PropertyMetadata(name: \"\(name)\", keypath: \\Trip.\(name), defaultValue: \(value), metadata: \(metadata))"
  }

  /// The lines of the metadata's body.
  private func metadata(_ lines: [String]) -> [String] {
    Array(
      lines.drop { !$0.contains("schemaMetadata") }.dropFirst().prefix { !$0.hasPrefix("init(") }
        .dropLast())
  }

  @Test(
    "An attribute in #if of whose condition a macro is sure counts as one without #if",
    arguments: [
      ("#if canImport(SwiftData)", false), ("#if canImport(Foundation) && canImport(CoreData)", false),
      ("#if DEBUG", true), ("#if os(Linux) && !RELEASE", true), ("#if swift(>=6)", true),
    ])
  func certain(_ line: String, _ isTold: Bool) {
    let found = lines(
      """
      \(line)
      @Attribute(.unique)
      #else
      @Transient
      #endif
      var name: String
      \(line)
      #Unique<Trip>([\\.name])
      var mode = ""
      #else
      var code = ""
      #endif
      init() {}
      """, build: isTold ? Expanding.debugBuild : nil)
    #expect(
      metadata(found) == [
        "[",
        entry("name", "SwiftData._attribute(\\Trip.name, SwiftData.Schema.Attribute(.unique))") + ",",
        entry("mode", default: "\"\"") + ",",
        "SwiftData.Schema.PropertyMetadata(name: \"SwiftData.Schema.Unique\", keypath: \\SwiftData.Schema.version, defaultValue: nil, metadata: SwiftData.Schema.Unique<Trip>([\\.name]))",
        "]",
      ])
    #expect(found.contains("if _$backingData?._begin(0, with: initialValue) != true {"))
  }

  @Test("Where no macro is told whether a condition is true, the metadata has the same #if")
  func mirrored() {
    let found = lines(
      """
      #if canImport(UIKit)
      @Attribute(.unique)
      #elseif canImport(AppKit)
      @Attribute(originalName: "title")
      #endif
      var name: String
      #if canImport(UIKit)
      var scale = 1
      #if canImport(Vision)
      var face: String?
      #endif
      #else
      var width = 2
      #endif
      var last = 3
      #if canImport(UIKit)
      #Index<Trip>([\\.scale])
      #endif
      init() {}
      """)
    let index =
      "SwiftData.Schema.PropertyMetadata(name: \"SwiftData.Schema.Index\", keypath: \\SwiftData.Schema.version, defaultValue: nil, metadata: SwiftData.Schema.Index<Trip>([\\.scale]))"
    #expect(
      metadata(found) == [
        "var _$list: [SwiftData.Schema.PropertyMetadata] = []",
        "_$list.reserveCapacity(_$list.count + 4)",
        "#if canImport(UIKit)",
        "_$list.append(\(entry("name", "SwiftData._attribute(\\Trip.name, SwiftData.Schema.Attribute(.unique))")))",
        "#elseif canImport(AppKit)",
        "_$list.append(\(entry("name", "SwiftData._attribute(\\Trip.name, SwiftData.Schema.Attribute(originalName: \"title\"))")))",
        "#else",
        "_$list.append(\(entry("name")))",
        "#endif",
        // Behind all others, whose places are known.
        "_$list.append(\(entry("last", default: "3")))",
        "#if canImport(UIKit)",
        "_$list.append(\(entry("scale", default: "1")))",
        "#if canImport(Vision)",
        "_$list.append(\(entry("face")))",
        "#endif",
        "#else",
        "_$list.append(\(entry("width", default: "2")))",
        "#endif",
        "#if canImport(UIKit)",
        "_$list.append(\(index))",
        "#endif",
        "return _$list",
      ])
    let made = Array(found.drop { !$0.hasPrefix("init(backingData:") }.dropFirst().prefix(10))
    #expect(
      made == [
        "_name = _SwiftDataNoType()", "_last = _SwiftDataNoType()", "#if canImport(UIKit)",
        "_scale = _SwiftDataNoType()", "#if canImport(Vision)", "_face = _SwiftDataNoType()", "#endif",
        "#else", "_width = _SwiftDataNoType()", "#endif",
      ])
    #expect(found.contains("if _$backingData?._begin(1, with: initialValue) != true {"))
  }

  @Test("S20: a submodel's key paths have the same #if")
  func submodel() {
    let found = lines(
      "#if os(iOS)\nvar fare = 0\n#endif\ninit() {}", of: "class Flight: Trip", isSubmodel: true)
    #expect(found.contains("var _$list: [AnyKeyPath] = super._$keyPaths(of: type)"))
    #expect(found.contains("_$list.append(\\_Model.fare)"))
    #expect(
      found.contains(
        "var _$list: [SwiftData.Schema.PropertyMetadata] = SwiftData._inherited(super.schemaMetadata, at: super._$keyPaths(of: Flight.self))"
      ))
    // Not compiled in the build that is told of.
    let linux = lines(
      "#if os(iOS)\nvar fare = 0\n#endif\ninit() {}", of: "class Flight: Trip", isSubmodel: true,
      build: Expanding.debugBuild)
    #expect(!linux.contains { $0.contains("_$list") || $0.contains("Trip.fare") })
  }

  @Test(
    "A property that is stored in one branch only is refused where no macro is told which branch is compiled")
  func undecided() {
    let source =
      "@Model class Trip {\n  #if canImport(UIKit)\n  @Transient\n  #endif\n  var a = 1\n  init() {}\n}"
    Expanding.expect(
      source,
      diagnostics: [
        DiagnosticSpec(
          message:
            "no macro is told whether ‘#if canImport(UIKit)’ is true, and the property is another one where it is: write the whole property once in each branch of the #if",
          line: 2, column: 3)
      ])
    let told = source.replacing("canImport(UIKit)", with: "os(iOS)")
    Expanding.expect(told, build: Expanding.debugBuild)
    #expect(Expanding.lines(told, build: Expanding.debugBuild).contains("return value"))
  }

  @Test("What is wrong in a branch that is not compiled is not told")
  func inactive() {
    Expanding.expect(
      "@Model class Trip {\n  #if os(iOS)\n  lazy var a = 1\n  #endif\n  init() {}\n}",
      build: Expanding.debugBuild)
    Expanding.expect(
      "@Model class Trip {\n  #if os(Linux)\n  lazy var a = 1\n  #endif\n  init() {}\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "a property of a model is read from its row, not made when it is first asked for", line: 3,
          column: 3,
          fixIts: [
            FixItSpec(message: "remove ‘lazy’"),
            FixItSpec(message: "keep it out of the schema with ‘@Transient’"),
          ])
      ], build: Expanding.debugBuild)
  }

  @Test("An initialiser in #if is one, and @Model in #if makes a model of the class")
  func initializer() {
    let found = lines(
      "var a: Int\n#if canImport(UIKit)\ninit() { a = 1 }\n#else\ninit(_ a: Int) { self.a = a }\n#endif")
    #expect(found.filter { $0.hasPrefix("init(") }.count == 4)  // two, that for rows and the accessor
    Expanding.expect("#if canImport(SwiftData)\n@Model\n#endif\nclass Trip {\n  #Unique<Trip>([\\.name])\n}")
  }
}
