import Testing

/// A property, and what is written for it.
struct PropertyCase: CustomTestStringConvertible, Sendable {
  let source: String
  let type: String
  let declaration: String
  let getter: String
  let setter: String?
  let name: String

  init(
    _ source: String, _ type: String, _ declaration: String, name: String = "x", getter: String? = nil,
    setter: String?? = nil
  ) {
    self.source = source
    self.type = type
    self.declaration = declaration
    self.name = name
    self.getter = getter ?? "self.read(Slots.\(name))"
    self.setter = setter ?? "self.write(newValue, Slots.\(name))"
  }

  var testDescription: String { source }
}

@Suite("What @Managed writes for a property")
struct PropertyExpansionTests {
  static let types: [PropertyCase] = [
    PropertyCase("var x: String", "String", "Slots.x.attribute()"),
    PropertyCase("var x: String?", "String?", "Slots.x.attribute()"),
    PropertyCase("var x: Optional<String>", "String?", "Slots.x.attribute()"),
    PropertyCase("var x: Swift.String", "Swift.String", "Slots.x.attribute()"),
    PropertyCase("var x: Int", "Int", "Slots.x.attribute()"),
    PropertyCase("var x: Int8", "Int8", "Slots.x.attribute()"),
    PropertyCase("var x: UInt32?", "UInt32?", "Slots.x.attribute()"),
    PropertyCase("var x: Date", "Date", "Slots.x.attribute()"),
    PropertyCase("var x: Foundation.Date?", "Foundation.Date?", "Slots.x.attribute()"),
    PropertyCase("var x: [Int]", "[Int]", "Slots.x.attribute()"),
    PropertyCase("var x: [String: Int]?", "[String: Int]?", "Slots.x.attribute()"),
    PropertyCase("var x: Set<String>", "Set<String>", "Slots.x.attribute()"),
    PropertyCase("var x: Format", "Format", "Slots.x.attribute()"),
    PropertyCase("var x: Shop.Format?", "Shop.Format?", "Slots.x.attribute()"),
    PropertyCase("var x: Pair<Int, String>", "Pair<Int, String>", "Slots.x.attribute()"),
    PropertyCase("var x: (String)", "String", "Slots.x.attribute()"),
    PropertyCase("var `class`: String", "String", "Slots.`class`.attribute()", name: "`class`"),
    PropertyCase("public var x: String", "String", "Slots.x.attribute()"),
    PropertyCase("var read: Bool", "Bool", "Slots.read.attribute()", name: "read"),
    PropertyCase("var object: String", "String", "Slots.object.attribute()", name: "object"),
    PropertyCase("var `default`: Int", "Int", "Slots.`default`.attribute()", name: "`default`"),
    PropertyCase("private(set) var x: String", "String", "Slots.x.attribute()"),
  ]

  static let initialValues: [PropertyCase] = [
    PropertyCase("var x = \"\"", "String", "Slots.x.attribute(default: \"\")"),
    PropertyCase("var x = \"a \\(1)\"", "String", "Slots.x.attribute(default: \"a \\(1)\")"),
    PropertyCase("var x = 1", "Int", "Slots.x.attribute(default: 1)"),
    PropertyCase("var x = -1", "Int", "Slots.x.attribute(default: -1)"),
    PropertyCase("var x = 0x1F", "Int", "Slots.x.attribute(default: 0x1F)"),
    PropertyCase("var x = 1.5", "Double", "Slots.x.attribute(default: 1.5)"),
    PropertyCase("var x = (2.5)", "Double", "Slots.x.attribute(default: (2.5))"),
    PropertyCase("var x = true", "Bool", "Slots.x.attribute(default: true)"),
    PropertyCase("var x = Format.paper", "Format", "Slots.x.attribute(default: Format.paper)"),
    PropertyCase("var x = Shop.Format.paper", "Shop.Format", "Slots.x.attribute(default: Shop.Format.paper)"),
    PropertyCase("var x = Date()", "Date", "Slots.x.attribute()"),
    PropertyCase("var x = Date.now", "Date", "Slots.x.attribute()"),
    PropertyCase("var x = UUID()", "UUID", "Slots.x.attribute()"),
    PropertyCase(
      "var x = Color(red: 1, green: 2)", "Color", "Slots.x.attribute(default: Color(red: 1, green: 2))"),
    PropertyCase("var x = Color.init(1)", "Color", "Slots.x.attribute(default: Color.init(1))"),
    PropertyCase("var x = Color.mixed(1, 2)", "Color", "Slots.x.attribute(default: Color.mixed(1, 2))"),
    PropertyCase("var x = [1, 2]", "[Int]", "Slots.x.attribute(default: [1, 2])"),
    PropertyCase("var x = [\"a\"]", "[String]", "Slots.x.attribute(default: [\"a\"])"),
    PropertyCase("var x = [Int]()", "[Int]", "Slots.x.attribute(default: [Int]())"),
    PropertyCase("var x = Set<Int>()", "Set<Int>", "Slots.x.attribute(default: Set<Int>())"),
    PropertyCase("var x = 5 as Int32", "Int32", "Slots.x.attribute(default: 5 as Int32)"),
    PropertyCase("var x: Int16 = 3", "Int16", "Slots.x.attribute(default: 3)"),
    PropertyCase("var x: Format = .paper", "Format", "Slots.x.attribute(default: .paper)"),
    PropertyCase("var x: String? = nil", "String?", "Slots.x.attribute()"),
    PropertyCase("var x: String? = \"a\"", "String?", "Slots.x.attribute(default: \"a\")"),
    PropertyCase("var x: [Int] = []", "[Int]", "Slots.x.attribute(default: [])"),
  ]

  static let marks: [PropertyCase] = [
    PropertyCase("@Unique var x: String", "String", "Slots.x.attribute(.unique)"),
    PropertyCase("@Indexed var x: Date?", "Date?", "Slots.x.attribute(.indexed)"),
    PropertyCase(
      "@Indexed(where: Attribute(\"x\") != nil) var x: Date?", "Date?",
      "Slots.x.attribute(.indexed(where: Attribute(\"x\") != nil))"),
    PropertyCase(
      "@Indexed(where: Attribute(\"x\") > 1, isAscending: false, name: \"top\") var x = 1", "Int",
      "Slots.x.attribute(default: 1, .indexed(where: Attribute(\"x\") > 1, isAscending: false, name: \"top\"))"
    ),
    PropertyCase(
      "@Attribute(.indexed(where: Attribute(\"x\") != nil), .userInfo([\"postgres.column\": \"y\"])) var x: Int?",
      "Int?",
      "Slots.x.attribute(.indexed(where: Attribute(\"x\") != nil), .userInfo([\"postgres.column\": \"y\"]))"),
    PropertyCase("@Unique @Indexed var x = 1", "Int", "Slots.x.attribute(default: 1, .unique, .indexed)"),
    PropertyCase("@Attribute(.optional) var x: Int", "Int", "Slots.x.attribute(.optional)"),
    PropertyCase(
      "@Attribute(.minimum(1), .maximum(12, warning: \"Twelve\")) var x: Int16 = 1", "Int16",
      "Slots.x.attribute(default: 1, .minimum(1), .maximum(12, warning: \"Twelve\"))"),
    PropertyCase(
      "@Unique @Attribute(.renamed(from: \"y\")) var x: String", "String",
      "Slots.x.attribute(.unique, .renamed(from: \"y\"))"),
    PropertyCase(
      "@Derived(\"chapters.@count\") var x: Int", "Int", "Slots.x.derived(\"chapters.@count\")",
      setter: .some(nil)),
    PropertyCase(
      "@Derived(\"uppercase:(name)\", .indexed) var x: String?", "String?",
      "Slots.x.derived(\"uppercase:(name)\", .indexed)",
      setter: .some(nil)),
    PropertyCase(
      "@Indexed @Derived(\"a.b\") var x: String?", "String?", "Slots.x.derived(\"a.b\", .indexed)",
      setter: .some(nil)),
    PropertyCase(
      "@Transient var x = false", "Bool", "Slots.x.transient(default: false)",
      getter: "self.readTransient(Slots.x)",
      setter: "self.writeTransient(newValue, Slots.x)"),
    PropertyCase(
      "@Transient var x: [String: Any]?", "[String: Any]?", "Slots.x.transient()",
      getter: "self.readTransient(Slots.x)",
      setter: "self.writeTransient(newValue, Slots.x)"),
    PropertyCase(
      "@Fetched(Requests.similar) var x: [Book]", "[Book]", "Slots.x.fetched(Requests.similar)",
      getter: "self.readFetched(Slots.x)", setter: .some(nil)),
  ]

  static let relationships: [PropertyCase] = [
    PropertyCase("@Relationship var x: Author?", "Author?", "Slots.x.relationship()"),
    PropertyCase("@Relationship var x: Author? = nil", "Author?", "Slots.x.relationship()"),
    PropertyCase("@Relationship var x: Set<Tag>", "Set<Tag>", "Slots.x.relationship()"),
    PropertyCase("@Relationship var x: Set<Tag> = []", "Set<Tag>", "Slots.x.relationship()"),
    PropertyCase("@Relationship var x: [Chapter]", "[Chapter]", "Slots.x.relationship()"),
    PropertyCase("@Relationship var x: Array<Chapter>", "Array<Chapter>", "Slots.x.relationship()"),
    PropertyCase(
      "@Relationship(inverse: \\Author.books) var x: Author?", "Author?",
      "Slots.x.relationship(inverse: \"books\")"),
    PropertyCase(
      "@Relationship(.userInfo([\"postgres.table\": \"tagged\"]), inverse: \\Tag.books) var x: Set<Tag>",
      "Set<Tag>",
      "Slots.x.relationship(.userInfo([\"postgres.table\": \"tagged\"]), inverse: \"books\")"),
    PropertyCase(
      "@Relationship(.symmetric) var x: Set<Book>", "Set<Book>", "Slots.x.relationship(.symmetric)"),
    PropertyCase(
      "@Relationship(inverse: \\Book.parent) var x: [Book]", "[Book]",
      "Slots.x.relationship(inverse: \"parent\")"),
    PropertyCase(
      "@Relationship(.cascade, inverse: \\Chapter.book) var x: [Chapter]", "[Chapter]",
      "Slots.x.relationship(.cascade, inverse: \"book\")"),
    PropertyCase(
      "@Relationship(.deny, .minimum(1), .maximum(3)) var x: Set<Tag>", "Set<Tag>",
      "Slots.x.relationship(.deny, .minimum(1), .maximum(3))"),
    PropertyCase(
      "@Relationship(.required, inverse: \\Shop.Author.books) var x: Shop.Author?", "Shop.Author?",
      "Slots.x.relationship(.required, inverse: \"books\")"),
    PropertyCase(
      "@Relationship(inverse: \\Author.`class`) var x: Author?", "Author?",
      "Slots.x.relationship(inverse: \"class\")"),
  ]

  private func check(_ property: PropertyCase) {
    let lines = Expanding.lines(ofClassWith: "  " + property.source)
    let key = property.name.filter { $0 != "`" }
    #expect(
      lines.contains("static let \(property.name) = StrataModels.Slot<Book, \(property.type)>(\"\(key)\")"))
    #expect(lines.contains(property.declaration))
    #expect(lines.contains(property.getter))
    if let setter = property.setter {
      #expect(lines.contains(setter))
    } else {
      #expect(!lines.contains { $0.hasPrefix("set") })
    }
    Expanding.expect("@Managed final class Book: ManagedObject {\n  \(property.source)\n}")
  }

  @Test("Written types", arguments: types) func written(_ property: PropertyCase) { check(property) }
  @Test("Initial values, whose types follow from their spelling", arguments: initialValues)
  func initial(_ property: PropertyCase) { check(property) }
  @Test("What attributes say", arguments: marks) func marked(_ property: PropertyCase) { check(property) }
  @Test("Relationships", arguments: relationships) func related(_ property: PropertyCase) { check(property) }

  @Test(
    "An initial value that may differ is made for each object; one that must differ is no default for others",
    arguments: [
      ("var x = UUID()", "UUID()", false), ("var x: Foundation.UUID = .init()", ".init()", false),
      ("var x = Date.now", "Date.now", false), ("var x: Date = .now", ".now", false),
      ("var x = Date(timeIntervalSinceNow: 60)", "Date(timeIntervalSinceNow: 60)", false),
      ("var x: String = UUID().uuidString", "UUID().uuidString", false),
      ("var x: Int = .random(in: bounds)", ".random(in: bounds)", false),
      ("var x: Date? = Date()", "Date()", false), ("var x: Int = next()", "next()", true),
      ("var x = Color.mixed(1, 2)", "Color.mixed(1, 2)", true),
    ])
  func madeForEach(_ source: String, _ value: String, _ isDefault: Bool) {
    let lines = Expanding.lines(ofClassWith: "  \(source)")
    #expect(lines.contains("nonisolated override func _setInitialValues() {"))
    #expect(lines.contains("self.x = \(value)"))
    #expect(lines.contains(isDefault ? "Slots.x.attribute(default: \(value))" : "Slots.x.attribute()"))
    #expect(lines.contains { $0.hasSuffix("= \(value)) {") && $0.hasPrefix("init(x: ") })
  }

  @Test(
    "A constant initial value is evaluated once",
    arguments: [
      "1", "\"a\"", "Format.paper", "Color(red: 1, green: 2)", "[Int]()",
      "Date(timeIntervalSinceReferenceDate: 1)",
      "[\"a\"]", "Set<Int>()",
    ])
  func evaluatedOnce(_ value: String) {
    let lines = Expanding.lines(ofClassWith: "  var x = \(value)")
    #expect(!lines.contains { $0.contains("_setInitialValues") })
    #expect(lines.contains("Slots.x.attribute(default: \(value))"))
  }

  @Test(
    "A type keeps the parentheses that its question mark needs",
    arguments: ["(any Helper)?", "(@Sendable () -> Int)?", "(() -> Int)?", "(First & Second)?", "Helper?"])
  func parentheses(_ type: String) {
    for written in [type, "Optional<\(type.dropLast())>"] {
      let lines = Expanding.lines(ofClassWith: "  @Transient var x: \(written)")
      #expect(lines.contains("static let x = StrataModels.Slot<Book, \(type)>(\"x\")"), "\(written)")
    }
  }

  @Test(
    "What is no stored property of an object is left alone",
    arguments: [
      "static var x = 1", "static let x = 1", "class var x: Int { 1 }", "var x: Int { 1 }",
      "var x: Int { get { 1 } set {} }",
      "func x() {}", "@Ignored var x = 1", "@Ignored lazy var x = 1", "@Ignored let x = 1",
      "@Ignored weak var x: Other?",
      "struct Inner { var x = 1 }", "init() {}",
    ])
  func leftAlone(_ member: String) {
    let lines = Expanding.lines(ofClassWith: "  \(member)")
    #expect(!lines.contains { $0.contains("Slot<") } && !lines.contains { $0.contains("read(") })
    Expanding.expect("@Managed final class Book: ManagedObject {\n  \(member)\n}")
  }
}
