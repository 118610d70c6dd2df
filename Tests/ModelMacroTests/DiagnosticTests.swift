import SwiftSyntaxMacrosGenericTestSupport
import Testing

/// Wrong source, what is said of it and where, and the source after the fix-it.
struct WrongCase: CustomTestStringConvertible, Sendable {
  let member: String
  let message: String
  let column: Int
  let fixIts: [String]
  let fixed: String?

  init(_ member: String, _ column: Int, _ message: String, _ fixIts: [String] = [], _ fixed: String? = nil) {
    self.member = member
    self.column = column
    self.message = message
    self.fixIts = fixIts
    self.fixed = fixed
  }

  var testDescription: String { member }
}

@Suite("What @Managed refuses in a class, at the right column, and how it is mended")
struct DiagnosticTests {
  static let kinds: [WrongCase] = [
    WrongCase(
      "let a: String", 3, "a property of a model can be set: write ‘var’",
      ["write ‘var’", "keep it out of the model with ‘@Ignored’"], "var a: String"),
    WrongCase(
      "lazy var a = 1", 3, "a property of a model is read from its row, not made when it is first asked for",
      ["remove ‘lazy’", "keep it out of the model with ‘@Ignored’"], "var a = 1"),
    WrongCase(
      "weak var a: Book?", 3,
      "a property of a model cannot be weak: a to-one relationship keeps no object alive",
      ["remove ‘weak’", "keep it out of the model with ‘@Ignored’"], "var a: Book?"),
    WrongCase(
      "unowned var a: Book", 3,
      "a property of a model cannot be unowned: a to-one relationship keeps no object alive",
      ["remove ‘unowned’", "keep it out of the model with ‘@Ignored’"], "var a: Book"),
    WrongCase(
      "var a = 1 { didSet {} }", 15,
      "a property of a model has no didSet: override willSave(), or write a computed property that sets this one",
      ["remove the observers"], "var a = 1"),
    WrongCase(
      "var a: Int { willSet {} }", 16,
      "a property of a model has no willSet: override willSave(), or write a computed property that sets this one",
      ["remove the observers"], "var a: Int"),
    WrongCase(
      "@Unique var a: Int { 1 }", 3, "a computed property is not stored: it cannot be @Unique",
      ["remove ‘@Unique’"],
      "var a: Int { 1 }"),
    WrongCase(
      "@Indexed var a: Int { get { 1 } set {} }", 3,
      "a computed property is not stored: it cannot be @Indexed",
      ["remove ‘@Indexed’"], "var a: Int { get { 1 } set {} }"),
    WrongCase(
      "@Relationship var a: Book? { nil }", 3,
      "a computed property is not stored: it cannot be @Relationship",
      ["remove ‘@Relationship’"], "var a: Book? { nil }"),
    WrongCase(
      "@Unique static var a = 1", 11, "a static property belongs to no object: it cannot be @Unique",
      ["remove ‘static’"],
      "@Unique var a = 1"),
    WrongCase(
      "@Ignored @Unique var a = 1", 12,
      "a property that is @Ignored is no part of the model: it cannot be @Unique",
      ["remove ‘@Unique’"], "@Ignored var a = 1"),
    WrongCase("var a = 1, b = 2", 7, "a property of a model is declared on a line of its own"),
    WrongCase("var (a, b) = (1, 2)", 7, "a property of a model has a name, not a pattern"),
    WrongCase(
      "var objectID: String", 7, "‘objectID’ is a property of every ManagedObject: choose another name"),
    WrongCase(
      "var hasChanges = true", 7, "‘hasChanges’ is a property of every ManagedObject: choose another name"),
    WrongCase(
      "var CodingKeys = 1", 7, "‘CodingKeys’ is what @Managed writes into the class: choose another name"),
    WrongCase("var Slots = 1", 7, "‘Slots’ is what @Managed writes into the class: choose another name"),
    WrongCase("var `self` = 1", 7, "‘self’ is a word of the language: choose another name"),
    WrongCase("var `Type`: Int", 7, "‘Type’ is a word of the language: choose another name"),
    WrongCase(
      "@MainActor var a = 1", 3, "an object belongs to the queue of its context, not to an actor",
      ["remove ‘@MainActor’"], "var a = 1"),
    WrongCase(
      "var next: Book?", 7, "a property that leads to objects is a relationship: write @Relationship",
      ["write ‘@Relationship’"], "@Relationship var next: Book?"),
    WrongCase(
      "var parts: [Book]", 7, "a property that leads to objects is a relationship: write @Relationship",
      ["write ‘@Relationship’"], "@Relationship var parts: [Book]"),
    WrongCase(
      "var parts: Set<Book> = []", 7,
      "a property that leads to objects is a relationship: write @Relationship",
      ["write ‘@Relationship’"], "@Relationship var parts: Set<Book> = []"),
    WrongCase(
      "var description = \"\"", 7, "‘description’ is a property of every ManagedObject: choose another name"),
  ]

  static let types: [WrongCase] = [
    WrongCase(
      "var a = make()", 7, "write the type of ‘a’: a macro sees only how the value is spelled",
      ["write a type"],
      "var a: <#Type#> = make()"),
    WrongCase(
      "var a = []", 7, "write the type of ‘a’: a macro sees only how the value is spelled", ["write a type"],
      "var a: <#Type#> = []"),
    WrongCase(
      "var a = nil", 7, "write the type of ‘a’: a macro sees only how the value is spelled", ["write a type"],
      "var a: <#Type#> = nil"),
    WrongCase(
      "var a = .red", 7, "write the type of ‘a’: a macro sees only how the value is spelled",
      ["write a type"],
      "var a: <#Type#> = .red"),
    WrongCase(
      "var a: UInt", 10, "‘UInt’ cannot be stored: no attribute holds all its values", ["write ‘Int’"],
      "var a: Int"),
    WrongCase(
      "var a: UInt64? = 1", 10, "‘UInt64’ cannot be stored: no attribute holds all its values",
      ["write ‘Int64?’"],
      "var a: Int64? = 1"),
    WrongCase(
      "var a: Float80", 10, "‘Float80’ cannot be stored: no attribute holds all its values",
      ["write ‘Double’"], "var a: Double"),
    WrongCase(
      "var a: Float16", 10, "‘Float16’ cannot be stored: no attribute holds all its values",
      ["write ‘Float’"], "var a: Float"),
    WrongCase(
      "var a: Character", 10, "‘Character’ cannot be stored: no attribute holds all its values",
      ["write ‘String’"],
      "var a: String"),
    WrongCase(
      "var a: NSString", 10, "‘NSString’ cannot be stored: no attribute holds all its values",
      ["write ‘String’"],
      "var a: String"),
    WrongCase(
      "var a: NSDate?", 10, "‘NSDate’ cannot be stored: no attribute holds all its values", ["write ‘Date?’"],
      "var a: Date?"),
    WrongCase(
      "var a: Any", 10, "‘Any’ cannot be stored", ["keep it in memory only with ‘@Transient’"],
      "@Transient var a: Any"),
    WrongCase(
      "var a: AnyObject?", 10, "‘AnyObject’ cannot be stored", ["keep it in memory only with ‘@Transient’"],
      "@Transient var a: AnyObject?"),
    WrongCase("var a: ManagedObject", 10, "‘ManagedObject’ cannot be stored"),
    WrongCase(
      "var a: String!", 10, "a property that may have no value is written ‘String?’", ["write ‘String?’"],
      "var a: String?"),
    WrongCase(
      "var a: (Int, Int)", 10,
      "a tuple cannot be stored: make it a struct that is Codable, Hashable and Sendable"),
    WrongCase(
      "var a: () -> Void", 10, "a function cannot be stored", ["keep it out of the model with ‘@Ignored’"],
      "@Ignored var a: () -> Void"),
    WrongCase("var a: any Shape", 10, "‘any Shape’ cannot be stored: an attribute has one type"),
    WrongCase("var a: some Shape", 10, "‘some Shape’ cannot be stored: an attribute has one type"),
  ]

  static let marks: [WrongCase] = [
    WrongCase(
      "@Unique @Unique var a = 1", 11, "@Unique stands here twice", ["remove the second ‘@Unique’"],
      "@Unique var a = 1"),
    WrongCase(
      "@Transient @Unique var a = 1", 14, "a transient property cannot be @Unique", ["remove ‘@Unique’"],
      "@Transient var a = 1"),
    WrongCase(
      "@Transient @Derived(\"b\") var a: Int", 14, "a transient property cannot be @Derived",
      ["remove ‘@Derived’"],
      "@Transient var a: Int"),
    WrongCase(
      "@Derived(\"b\") var a: Int = 1", 28,
      "a derived property has no initial value: it follows from ‘\"b\"’",
      ["remove the initial value"], "@Derived(\"b\") var a: Int"),
    WrongCase(
      "@Derived var a: Int", 3,
      "@Derived needs the expression that the value follows from, such as \"chapters.@count\""),
    WrongCase(
      "@Transient var a = Date()", 22,
      "a transient property starts with one value for all objects: set this one in awakeFromInsert() and awakeFromFetch()"
    ),
    WrongCase("@Fetched(request) var a: Book", 28, "a fetched property is an array of objects"),
    WrongCase("@Fetched var a: [Book]", 3, "@Fetched needs the request to execute"),
    WrongCase(
      "@Fetched(request) @Indexed var a: [Book]", 21, "a fetched property cannot be @Indexed",
      ["remove ‘@Indexed’"],
      "@Fetched(request) var a: [Book]"),
  ]

  static let relationships: [WrongCase] = [
    WrongCase(
      "@Relationship var a: Author", 24,
      "a to-one relationship may lead to no object, before it is set and after the object is deleted: make it optional, and say "
        + ".required if no save may be without",
      ["write ‘Author?’"], "@Relationship var a: Author?"),
    WrongCase(
      "@Relationship var a: Author!", 24, "a to-one relationship may lead to no object: write ‘Author?’",
      ["write ‘Author?’"],
      "@Relationship var a: Author?"),
    WrongCase(
      "@Relationship var a: [Chapter]?", 24, "a to-many relationship without members is empty, not nil",
      ["write ‘[Chapter]’"],
      "@Relationship var a: [Chapter]"),
    WrongCase(
      "@Relationship var a: Set<Tag>?", 24, "a to-many relationship without members is empty, not nil",
      ["write ‘Set<Tag>’"],
      "@Relationship var a: Set<Tag>"),
    WrongCase(
      "@Relationship var a: NSSet", 24, "a relationship is an object that may be nil, a Set or an array"),
    WrongCase(
      "@Relationship var a: [String: Book]", 24,
      "a relationship is an object that may be nil, a Set or an array"),
    WrongCase(
      "@Relationship var a: Author? = me", 34,
      "a new object is related to none: a relationship has no initial value"),
    WrongCase(
      "@Relationship @Unique var a: Author?", 17, "a relationship cannot be @Unique", ["remove ‘@Unique’"],
      "@Relationship var a: Author?"),
    WrongCase(
      "@Relationship @Transient var a: Author?", 17, "a relationship cannot be @Transient",
      ["remove ‘@Transient’"],
      "@Relationship var a: Author?"),
    WrongCase(
      "@Relationship(inverse: \\A.x) @Relationship(inverse: \\A.y) var a: A?", 32,
      "a relationship has one inverse: write @Relationship once", ["remove the second ‘@Relationship’"],
      "@Relationship(inverse: \\A.x) var a: A?"),
    WrongCase(
      "@Relationship(inverse: \\Author.books) var a: [Chapter]", 27,
      "the inverse of a relationship to Chapter is a property of Chapter", ["write ‘Chapter’"],
      "@Relationship(inverse: \\Chapter.books) var a: [Chapter]"),
    WrongCase(
      "@Relationship(inverse: \\.book) var a: [Chapter]", 26,
      "an inverse names its class, \\Chapter.property",
      ["write ‘\\Chapter.book’"], "@Relationship(inverse: \\Chapter.book) var a: [Chapter]"),
    WrongCase(
      "@Relationship(inverse: \"book\") var a: [Chapter]", 26,
      "an inverse is named by a key path, \\Chapter.property",
      ["write ‘\\Chapter.book’"], "@Relationship(inverse: \\Chapter.book) var a: [Chapter]"),
    WrongCase(
      "@Relationship(inverse: book) var a: [Chapter]", 26,
      "an inverse is named by a key path, \\Chapter.property"),
    WrongCase(
      "@Relationship(inverse: \\Chapter.book.author) var a: [Chapter]", 26,
      "an inverse is one property of Chapter"),
    WrongCase(
      "@Relationship(inverse: \\Chapter) var a: [Chapter]", 26,
      "the inverse is missing: name the property, \\Chapter.property"),
    WrongCase(
      "@Relationship(inverse: \\Shop.Author.books) var a: Shop.Tag?", 27,
      "the inverse of a relationship to Shop.Tag is a property of Shop.Tag"),
    WrongCase(
      "@Relationship(inverse: \\Book.a) var a: Set<Book>", 3,
      "a relationship that is its own inverse names none: write ‘@Relationship(.symmetric)’"),
    WrongCase(
      "@Relationship(.maximum(1)) var a: [Chapter]", 17,
      "the most members of a to-many relationship are at least 2: for one, make it optional"),
    WrongCase(
      "@Relationship(.minimum(1)) var a: Author?", 17,
      "a to-one relationship has no .minimum: say .required, or make it a Set or an array"),
  ]

  private func check(_ wrong: WrongCase, _ location: Testing.SourceLocation = #_sourceLocation) {
    let source = "@Managed final class Book: ManagedObject {\n  \(wrong.member)\n}"
    let fixed = wrong.fixed.map { "@Managed final class Book: ManagedObject {\n  \($0)\n}" }
    Expanding.expect(
      source,
      diagnostics: [
        DiagnosticSpec(
          message: wrong.message, line: 2, column: wrong.column,
          fixIts: wrong.fixIts.map { FixItSpec(message: $0) })
      ], fixed: fixed, by: wrong.fixIts.first.map { [$0] }, sourceLocation: location)
  }

  @Test("Properties that are none of a model's", arguments: kinds) func kind(_ wrong: WrongCase) {
    check(wrong)
  }
  @Test("Types that no attribute holds", arguments: types) func type(_ wrong: WrongCase) { check(wrong) }
  @Test("Attributes that do not go together", arguments: marks) func mark(_ wrong: WrongCase) { check(wrong) }
  @Test("Relationships", arguments: relationships) func relationship(_ wrong: WrongCase) { check(wrong) }
}

@Suite("What the macros refuse outside of a class's properties")
struct ClassDiagnosticTests {
  @Test("A struct is made a final class")
  func structure() {
    Expanding.expect(
      "@Managed struct Book {\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "@Managed is for classes: an object of a graph has an identity", line: 1, column: 10,
          fixIts: [FixItSpec(message: "make it a ‘final class’")])
      ], fixed: "@Managed final class Book: ManagedObject {\n}")
  }

  @Test("A struct keeps its visibility and its protocols")
  func publicStructure() {
    Expanding.expect(
      "@Managed public struct Book: Sendable {\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "@Managed is for classes: an object of a graph has an identity", line: 1, column: 17,
          fixIts: [FixItSpec(message: "make it a ‘final class’")])
      ], fixed: "@Managed public final class Book: ManagedObject, Sendable {\n}")
  }

  @Test("Enums and actors are refused", arguments: ["enum", "actor"])
  func others(_ keyword: String) {
    Expanding.expect(
      "@Managed \(keyword) Book {\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "@Managed is for classes that inherit from ManagedObject", line: 1, column: 10)
      ])
  }

  @Test("A class without a superclass gets one")
  func superclass() {
    Expanding.expect(
      "@Managed final class Book {\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "a class with @Managed inherits from ManagedObject", line: 1, column: 22,
          fixIts: [FixItSpec(message: "inherit from ‘ManagedObject’")])
      ], fixed: "@Managed final class Book: ManagedObject {\n}")
  }

  @Test(
    "A class whose first inherited type is a protocol, or a class of another library, gets ManagedObject",
    arguments: [
      ("Codable", "ManagedObject, Codable"), ("Hashable, Sendable", "ManagedObject, Hashable, Sendable"),
      ("NSManagedObject", "ManagedObject"), ("Object, Sendable", "ManagedObject, Sendable"),
    ])
  func otherSuperclass(_ inherited: String, _ mended: String) {
    Expanding.expect(
      "@Managed final class Book: \(inherited) {\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "a class with @Managed inherits from ManagedObject, which stands first", line: 1,
          column: 28,
          fixIts: [FixItSpec(message: "inherit from ‘ManagedObject’")])
      ], fixed: "@Managed final class Book: \(mended) {\n}")
  }

  @Test("A class of an actor is refused")
  func actor() {
    Expanding.expect(
      "@MainActor @Managed final class Book: ManagedObject {\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "an object belongs to the queue of its context, not to an actor", line: 1, column: 1,
          fixIts: [FixItSpec(message: "remove ‘@MainActor’")])
      ], fixed: "@Managed final class Book: ManagedObject {\n}")
  }

  @Test("A subclass's property cannot have the name of its superclass's value")
  func inherited() {
    Expanding.expect(
      "@Managed final class Novel: Book {\n  var inherited = 1\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "‘inherited’ is the value of the superclass in the class's Value: choose another name",
          line: 2, column: 7)
      ])
    Expanding.expect("@Managed final class Book: ManagedObject {\n  var inherited = 1\n}")
  }

  @Test("A class with the name of what the macro writes is refused", arguments: ["Slots", "Value"])
  func name(_ name: String) {
    Expanding.expect(
      "@Managed final class \(name): ManagedObject {\n}",
      diagnostics: [
        DiagnosticSpec(
          message:
            "‘\(name)’ is what @Managed writes into the class: give the class another name, and keep the entity's with @Managed(.named(\"\(name)\"))",
          line: 1, column: 22)
      ])
  }

  @Test("Of a class that is refused no property gets accessors, which would lack their slots")
  func noAccessors() {
    let found = Expanding.expand("@Managed final class Book {\n  var title = \"\"\n}")
    #expect(found.contains("var title = \"\"") && !found.contains("read(") && !found.contains("Slots"))
  }

  @Test("A generic class is refused")
  func generic() {
    Expanding.expect(
      "@Managed final class Book<T>: ManagedObject {\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "a class with @Managed is not generic: its entity has one set of properties", line: 1,
          column: 26)
      ])
  }

  @Test("A name in .unique or .index that the class does not have, with the nearest")
  func names() {
    Expanding.expect(
      "@Managed(.unique(\"isnb\")) final class Book: ManagedObject {\n  var isbn = \"\"\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "the class has no property ‘isnb’", line: 1, column: 18,
          fixIts: [FixItSpec(message: "write \"isbn\"")])
      ], fixed: "@Managed(.unique(\"isbn\")) final class Book: ManagedObject {\n  var isbn = \"\"\n}")
    Expanding.expect(
      "@Managed(.index(\"far off\")) final class Book: ManagedObject {\n  var isbn = \"\"\n}",
      diagnostics: [DiagnosticSpec(message: "the class has no property ‘far off’", line: 1, column: 17)])
    // What a superclass has is not seen.
    Expanding.expect("@Managed(.index(\"title\")) final class Novel: Book {\n}")
  }

  @Test(
    "A name in a direction or a condition of an index that the class does not have, with the nearest",
    arguments: [
      ("@Managed(.index(.descending(\"isnb\")))", "", 29),
      ("@Managed(.index(\"isbn\", .ascending(\"isnb\")))", "", 36),
      ("@Managed(.index(\"isbn\", where: Attribute(\"isnb\") != nil))", "", 42),
      (
        "@Managed(.index(\"isbn\", where: Attribute(\"isbn\") != nil && Attribute(\"isnb\") > 1, name: \"x\"))",
        "", 70
      ),
      ("@Managed", "@Indexed(where: Attribute(\"isnb\") != nil) ", 29),
      ("@Managed", "@Attribute(.indexed(where: !Attribute(\"isnb\").contains(\"x\"))) ", 41),
    ])
  func namesInIndexes(_ head: String, _ mark: String, _ column: Int) {
    let source = "\(head) final class Book: ManagedObject {\n  \(mark)var isbn = \"\"\n}"
    Expanding.expect(
      source,
      diagnostics: [
        DiagnosticSpec(
          message: "the class has no property ‘isnb’", line: mark.isEmpty ? 1 : 2, column: column,
          fixIts: [FixItSpec(message: "write \"isbn\"")])
      ], fixed: source.replacing("isnb", with: "isbn"))
    // What a superclass has is not seen.
    Expanding.expect(source.replacing("ManagedObject", with: "Publication"))
  }

  @Test(
    "An index with a #Predicate is refused",
    arguments: [
      ("@Managed(.index(\"a\", where: #Predicate<Book> { $0.a > 1 }))", "", 1, 29),
      ("@Managed(.index(\"a\", where: FetchPredicate(#Predicate<Book> { $0.a > 1 })))", "", 1, 44),
      ("@Managed", "@Indexed(where: #Predicate<Book> { $0.a > 1 }) ", 2, 19),
    ])
  func predicateInIndex(_ head: String, _ mark: String, _ line: Int, _ column: Int) {
    Expanding.expect(
      "\(head) final class Book: ManagedObject {\n  \(mark)var a = 1\n}",
      diagnostics: [
        DiagnosticSpec(
          message:
            "an index keeps no #Predicate: write the condition with Attribute, as in ‘Attribute(\"pages\") > 300’",
          line: line, column: column)
      ])
  }

  @Test(
    "A key that stands twice in user info is refused: the literal would end the program",
    arguments: [
      ("@Managed(.userInfo([\"k\": 1, \"k\": 2]))", "", 1, 29, "@Managed(.userInfo([\"k\": 1]))", ""),
      (
        "@Managed", "@Attribute(.userInfo([\"k\": 1, \"l\": 2, \"k\": 3])) ", 2, 41, "@Managed",
        "@Attribute(.userInfo([\"k\": 1, \"l\": 2])) "
      ),
    ])
  func keysOfUserInfo(
    _ head: String, _ mark: String, _ line: Int, _ column: Int, _ fixedHead: String, _ fixedMark: String
  ) {
    func source(_ head: String, _ mark: String) -> String {
      "\(head) final class Book: ManagedObject {\n  \(mark)var a = 1\n}"
    }
    Expanding.expect(
      source(head, mark),
      diagnostics: [
        DiagnosticSpec(
          message: "the key ‘k’ stands here twice", line: line, column: column,
          fixIts: [FixItSpec(message: "remove the second ‘k’")])
      ], fixed: source(fixedHead, fixedMark))
  }

  @Test("Attributes outside of a class with @Managed are refused", arguments: PropertyMarks.all)
  func unmanaged(_ mark: String) {
    let name = mark.split(separator: "(")[0]
    Expanding.expect(
      "class Book {\n  @\(mark) var a = 1\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "@\(name) is for properties of a class with @Managed", line: 2, column: 3,
          fixIts: [FixItSpec(message: "remove ‘@\(name)’")])
      ], fixed: "class Book {\n  var a = 1\n}")
  }

  @Test("Attributes of what is no property are refused")
  func noProperty() {
    Expanding.expect(
      "@Managed final class Book: ManagedObject {\n  @Unique func a() {}\n}",
      diagnostics: [DiagnosticSpec(message: "@Unique is for properties", line: 2, column: 3)])
  }

  @Test("Properties in #if are refused, at every depth; what is not stored may stand there")
  func conditionalProperties() {
    let message = "properties of a model cannot stand in #if: a store has one set of them"
    Expanding.expect(
      """
      @Managed final class Book: ManagedObject {
        var title = ""
        #if os(Linux)
          var inode = 1
          #if DEBUG
            var author: String?
          #endif
        #else
          var node: Int?
        #endif
      }
      """,
      diagnostics: [
        DiagnosticSpec(message: message, line: 4, column: 9),
        DiagnosticSpec(message: message, line: 6, column: 11),
        DiagnosticSpec(message: message, line: 9, column: 9),
      ])
    Expanding.expect(
      """
      @Managed final class Book: ManagedObject {
        var title = ""
        #if os(Linux)
          var length: Int { title.count }
          static let most = 1
          func read() {}
        #endif
      }
      """)
  }

  @Test("A composite is a struct with elements")
  func composite() {
    Expanding.expect(
      "@Composite class Address {\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "@Composite is for structs: a composite attribute is a value", line: 1, column: 12)
      ])
    Expanding.expect(
      "@Composite struct Address {\n}",
      diagnostics: [
        DiagnosticSpec(message: "a composite attribute has at least one element", line: 1, column: 19)
      ])
    Expanding.expect(
      "@Composite struct Address {\n  let a = 1\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "an element with a constant value stores nothing: make it ‘static’", line: 2, column: 3)
      ])
    Expanding.expect(
      "@Composite struct Address {\n  var a = make()\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "write the type of ‘a’: a macro sees only how the value is spelled", line: 2, column: 7)
      ])
    Expanding.expect(
      "@Composite struct Address {\n  var elementValues = 1\n}",
      diagnostics: [
        DiagnosticSpec(
          message: "‘elementValues’ is what @Composite writes into the struct: choose another name", line: 2,
          column: 7)
      ])
  }
}

enum PropertyMarks {
  static let all = ["Unique", "Indexed", "Attribute(.optional)", "Transient", "Ignored", "Derived(\"b\")"]
}
