import Testing

@Suite("What @Managed writes for a class")
struct ClassExpansionTests {
  private func lines(_ source: String) -> [String] {
    Expanding.expand(source).split(separator: "\n").map(\.trimmingCharacters)
  }

  @Test("A class and its property, as a whole")
  func whole() {
    Expanding.expect(
      """
      @Managed final class Book: ManagedObject {
        var title = ""
      }
      """,
      """
      final class Book: ManagedObject {
        var title {
          get {
            self.read(Slots.title)
          }
          set {
            self.write(newValue, Slots.title)
          }
        }

        nonisolated enum Slots {
          static let title = StrataModels.Slot<Book, String>("title")
        }

        nonisolated override class var entityDeclaration: StrataModels.EntityDeclaration? {
          StrataModels.EntityDeclaration(Book.self, [
            Slots.title.attribute(default: "")
          ], file: "App/Model.swift", line: 1)
        }

        nonisolated struct Value: StrataModels.ManagedValue {
          var title: String
          init(title: String = "") {
            self.title = title
          }
          init(_ object: Book) {
            self.title = object.title
          }
          static func makeObject(in context: StrataModels.ManagedObjectContext) -> Book {
            Book(context: context)
          }
          func write(to object: Book) throws {
            if object.title != self.title || !object.hasValue(forKey: "title") {
              object.title = self.title
            }
          }
          private enum CodingKeys: Swift.String, Swift.CodingKey {
            case title
          }
          init(from decoder: any Swift.Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            self.title = try container.decodeProperty(.title, absent: "")
          }
          func encode(to encoder: any Swift.Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encodeProperty(self.title, .title)
          }
        }

        var value: Value {
          Value(self)
        }
      }
      """)
  }

  @Test("Options of the class go to its entity, with the class's place")
  func options() {
    let found = lines(
      "\n@Managed(.abstract, .named(\"B\"), .unique(\"a\", \"b\")) class Book: ManagedObject { var a = 1; var b = 2 }"
    )
    #expect(
      found.contains(
        "], .abstract, .named(\"B\"), .unique(\"a\", \"b\"), file: \"App/Model.swift\", line: 2)"))
  }

  @Test("User info, directions and conditions of indexes go along as they are written")
  func indexes() {
    let options = [
      ".userInfo([\"postgres.table\": \"books\"])", ".index(\"a\", .descending(\"b\"), name: \"mixed\")",
      ".index(\"b\", where: Attribute(\"a\") > 1)",
    ].joined(separator: ", ")
    let found = lines("@Managed(\(options)) class Book: ManagedObject { var a = 1; var b = 2 }")
    #expect(found.contains("], \(options), file: \"App/Model.swift\", line: 1)"))
  }

  @Test(
    "What is written is as visible as the class",
    arguments: [
      ("public final", "public "), ("open", "public "), ("package final", "package "),
      ("private final", "fileprivate "),
      ("fileprivate", "fileprivate "), ("final", ""), ("", ""),
    ])
  func access(_ modifiers: String, _ access: String) {
    let found = lines("@Managed \(modifiers) class Book: ManagedObject { \(access)var a = 1 }")
    #expect(found.contains("\(access)nonisolated enum Slots {"))
    #expect(found.contains("\(access)static let a = StrataModels.Slot<Book, Int>(\"a\")"))
    #expect(
      found.contains(
        "\(access)nonisolated override class var entityDeclaration: StrataModels.EntityDeclaration? {"))
    #expect(found.contains("\(access)nonisolated struct Value: StrataModels.ManagedValue {"))
    #expect(found.contains("\(access)init(a: Int = 1) {"))
  }

  @Test(
    "What is written for a property is no more visible than the property",
    arguments: [
      ("public final", "var a: Kind", ""), ("open", "private var a: Kind", "fileprivate "),
      ("public final", "public private(set) var a: Kind", "public "),
      ("final", "public var a: Kind", ""), ("fileprivate final", "var a: Kind", "fileprivate "),
      ("public final", "package var a: Kind", "package "), ("final", "private var a: Kind", "fileprivate "),
    ])
  func accessOfProperties(_ modifiers: String, _ member: String, _ access: String) {
    let found = lines("@Managed \(modifiers) class Book: ManagedObject { \(member) }")
    #expect(found.contains("\(access)static let a = StrataModels.Slot<Book, Kind>(\"a\")"))
    #expect(found.contains("\(access)var a: Kind") && found.contains("\(access)init(a: Kind) {"))
  }

  @Test("A property called `value` is the class's own: there is no other")
  func propertyCalledValue() {
    let found = lines("@Managed final class Book: ManagedObject { var value = 1 }")
    #expect(found.contains("static let value = StrataModels.Slot<Book, Int>(\"value\")"))
    #expect(!found.contains("var value: Value {"))
  }

  @Test("Only a final class has `value`, which a subclass would need with another type")
  func valueOfFinalClasses() {
    #expect(lines("@Managed final class Book: ManagedObject {}").contains("var value: Value {"))
    #expect(!lines("@Managed class Book: ManagedObject {}").contains("var value: Value {"))
  }

  @Test("The value of a subclass holds its superclass's")
  func inheritedValue() {
    let found = lines("@Managed final class Novel: Book { var a = 1 }")
    #expect(found.contains("var inherited: Book.Value"))
    #expect(found.contains("init(inherited: Book.Value, a: Int = 1) {"))
    #expect(
      found.contains("self.inherited = Book.Value(object)")
        && found.contains("try self.inherited.write(to: object)"))
    #expect(
      found.contains("self.inherited = try Book.Value(from: decoder)")
        && found.contains("try self.inherited.encode(to: encoder)"))
    #expect(lines("@Managed class Novel: Shop.Book {}").contains("var inherited: Shop.Book.Value"))
    for root in ["ManagedObject", "Strata.ManagedObject"] {
      #expect(!lines("@Managed class Novel: \(root) {}").contains { $0.contains("inherited") })
    }
  }

  @Test("A value has related IDs, and neither derived nor transient nor fetched properties")
  func valueOfOtherProperties() {
    let found = Expanding.lines(
      ofClassWith: """
          @Relationship var one: Author?
          @Relationship var many: Set<Tag>
          @Relationship var row: [Chapter]
          @Derived("row.@count") var count: Int
          @Transient var open = false
          @Fetched(request) var similar: [Book]
        """)
    #expect(
      found.contains("var one: StrataModels.ManagedObjectID?")
        && found.contains("var many: Swift.Set<StrataModels.ManagedObjectID>"))
    #expect(found.contains("var row: [StrataModels.ManagedObjectID]"))
    #expect(
      found.contains(
        "init(one: StrataModels.ManagedObjectID? = nil, many: Swift.Set<StrataModels.ManagedObjectID> = [], row: [StrataModels.ManagedObjectID] = []) {"
      ))
    #expect(
      found.contains("self.one = object.identifier(Slots.one)")
        && found.contains("self.many = object.identifiers(Slots.many)"))
    #expect(found.contains("try object.relate(Slots.row, to: self.row)"))
    #expect(
      !found.contains {
        $0.contains("object.count") || $0.contains("object.open") || $0.contains("object.similar")
      })
  }

  @Test("Properties that are @Ignored are named to the check of stored properties")
  func ignored() {
    let found = Expanding.lines(ofClassWith: "  @Ignored var a = 1\n  @Ignored var b: Int?")
    #expect(found.contains("super.ignoredProperties + [\"a\", \"b\"]"))
    #expect(!Expanding.lines(ofClassWith: "  var a = 1").contains { $0.contains("ignoredProperties") })
  }

  @Test("A class without properties")
  func empty() {
    let found = Expanding.lines(ofClassWith: "")
    #expect(found.contains("private enum CodingKeys: Swift.CodingKey {") && found.contains("init() {"))
  }

  @Test("A composite reads and writes its elements")
  func composite() {
    Expanding.expect(
      """
      @Composite struct Address {
        var street: String
        var number: Int?
      }
      """,
      """
      struct Address {
        var street: String
        var number: Int?
      }

      nonisolated extension Address: StrataModels.CompositeValue {
        static var elements: [StrataModels.AttributeDescription] {
          [StrataModels.CompositeElement<String>.description("street"), StrataModels.CompositeElement<Int?>.description("number")]
        }
        init?(elements: [String: Any]) {
          guard let street = StrataModels.CompositeElement<String>.value(elements["street"]), let number = StrataModels.CompositeElement<Int?>.value(elements["number"]) else {
            return nil
          }
          self.init(street: street, number: number)
        }
        var elementValues: [String: Any] {
          var values: [String: Any] = [:]
          values["street"] = StrataModels.CompositeElement<String>.stored(street)
          values["number"] = StrataModels.CompositeElement<Int?>.stored(number)
          return values
        }
      }
      """)
  }

  @Test("Elements may have the names of what the macro writes")
  func compositeWithTakenNames() {
    let expanded = Expanding.expand(
      """
      @Composite struct Range {
        var elements: Int
        var values: Int
        var _values: Int
      }
      """)
    for line in [
      "init?(elements _elements: [String: Any]) {", "var __values: [String: Any] = [:]",
      "__values[\"values\"] = StrataModels.CompositeElement<Int>.stored(values)",
      "__values[\"_values\"] = StrataModels.CompositeElement<Int>.stored(_values)", "return __values",
      "self.init(elements: elements, values: values, _values: _values)",
    ] {
      #expect(expanded.contains(line))
    }
    #expect(
      expanded.contains("let elements = StrataModels.CompositeElement<Int>.value(_elements[\"elements\"])"))
  }
}
