import Testing

@Suite("What @Model writes")
struct ExpansionTests {
  private func lines(_ members: String, of head: String = "final class Trip", isSubmodel: Bool = false)
    -> [String]
  {
    Expanding.lines("@Model \(head) {\n\(members)\n}", isSubmodel: isSubmodel)
  }

  @Test("S2–S6, S3, R3, R4: a root class and its property, as a whole")
  func whole() {
    Expanding.expect(
      """
      @Model class Trip {
        var title = ""
      }
      """,
      """
      class Trip {
        var title {
          @storageRestrictions(accesses: _$backingData, initializes: _title)
          init(initialValue) {
            if _$backingData == nil {
              _$backingData = SwiftData._newBackingData()
            }
            if _$backingData?._begin(0, with: initialValue) != true {
              SwiftData._begun(&_$backingData).setValue(forKey: \\.title, to: initialValue)
            }
            _title = _SwiftDataNoType()
          }
          get {
            if let value = self._value(at: 0, in: _$row, \\.title) {
              return value
            }
            _$observationRegistrar.access(self, keyPath: \\.title)
            return self.getValue(forKey: \\.title)
          }
          set {
            _$observationRegistrar.withMutation(of: self, keyPath: \\.title) {
              self.setValue(forKey: \\.title, to: newValue)
            }
          }
        }

        @SwiftData.Transient
        private var _title: _SwiftDataNoType = _SwiftDataNoType()

        @SwiftData.Transient @exclusivity(unchecked)
        private var _$backingData: (any SwiftData.BackingData<Trip>)? = nil

        var persistentBackingData: any SwiftData.BackingData<Trip> {
          get {
            SwiftData._begun(&_$backingData)
          }
          set {
            _$row = SwiftData._RowReference(newValue)
            _$backingData = newValue
          }
        }

        @SwiftData.Transient @exclusivity(unchecked)
        private(set) var _$row = SwiftData._RowReference()

        class var schemaMetadata: [SwiftData.Schema.PropertyMetadata] {
          [
            SwiftData.Schema.PropertyMetadata(name: "title", keypath: \\Trip.title, defaultValue: "", metadata: nil)
          ]
        }

        required init(backingData: any SwiftData.BackingData<Trip>) {
          _title = _SwiftDataNoType()
          _$row = SwiftData._RowReference(backingData)
          _$backingData = backingData
        }

        @SwiftData.Transient
        nonisolated let _$observationRegistrar = SwiftData._ModelRegistrar()

        nonisolated func access<_Member>(keyPath: KeyPath<Trip, _Member>) {
          _$observationRegistrar.access(self, keyPath: keyPath)
        }

        nonisolated func withMutation<_Member, _Result>(
          keyPath: KeyPath<Trip, _Member>, _ mutation: () throws -> _Result
        ) rethrows -> _Result {
          try _$observationRegistrar.withMutation(of: self, keyPath: keyPath, mutation)
        }

        struct _SwiftDataNoType {
        }

        typealias _$ModelRoot = Trip

        static func _$keyPaths<_Model: Trip>(of type: _Model.Type) -> [AnyKeyPath] {
          [\\_Model.title]
        }

        init() {
        }
      }

      nonisolated extension Trip: Observation.Observable {
      }

      nonisolated extension Trip: SwiftData.PersistentModel {
      }

      @available(*, unavailable, message: "a model belongs to its context: pass its persistentModelID on, and fetch it where it is needed, for instance in a ModelActor")
      extension Trip: Sendable {
      }
      """)
  }

  @Test("S2, S10: a final class needs no required initialiser and keeps its registrar to itself")
  func finalClass() {
    let found = lines("var title = \"\"")
    #expect(found.contains("init(backingData: any SwiftData.BackingData<Trip>) {"))
    #expect(
      found.contains("private nonisolated let _$observationRegistrar = SwiftData._ModelRegistrar()"))
    #expect(found.contains("private var _$row = SwiftData._RowReference()"))
    #expect(!found.contains { $0.contains("_$ModelRoot") || $0.contains("_$keyPaths") })
  }

  @Test("S2, S7: what a public class has is public, and what an open class has is open to submodels")
  func access() {
    let found = lines("public var title = \"\"", of: "public final class Trip")
    #expect(found.contains("public var persistentBackingData: any SwiftData.BackingData<Trip> {"))
    #expect(found.contains("public class var schemaMetadata: [SwiftData.Schema.PropertyMetadata] {"))
    #expect(found.contains("public init(backingData: any SwiftData.BackingData<Trip>) {"))
    let open = lines("public var title = \"\"", of: "open class Trip")
    #expect(open.contains("open var persistentBackingData: any SwiftData.BackingData<Trip> {"))
    #expect(open.contains("open class var schemaMetadata: [SwiftData.Schema.PropertyMetadata] {"))
    #expect(open.contains("public required init(backingData: any SwiftData.BackingData<Trip>) {"))
    #expect(open.contains("public typealias _$ModelRoot = Trip"))
    #expect(
      open.contains(
        "public static func _$keyPaths<_Model: Trip>(of type: _Model.Type) -> [AnyKeyPath] {"))
  }

  @Test("S4: statics, computed and transient properties are left alone")
  func leftAlone() {
    let found = lines(
      """
      static var count = 0
      class var kind: String { "a" }
      var name: String { title }
      @Transient var isOpen = false
      var title = ""
      """)
    #expect(found.filter { $0.contains("PropertyMetadata(name:") }.count == 1)
    #expect(found.contains("var isOpen = false"))
    #expect(found.contains("var name: String { title }"))
  }

  @Test(
    "S6: the marker of an optional property is optional, that of one with an initial value has one",
    arguments: [
      ("var a: Int", "private var _a: _SwiftDataNoType"),
      ("var a: Int?", "private var _a: _SwiftDataNoType?"),
      ("var a: Int!", "private var _a: _SwiftDataNoType!"),
      ("var a: Int? = 1", "private var _a: _SwiftDataNoType? = _SwiftDataNoType()"),
      ("var a = 1", "private var _a: _SwiftDataNoType = _SwiftDataNoType()"),
      ("var `default`: Bool", "private var _default: _SwiftDataNoType"),
    ])
  func markers(_ member: String, _ marker: String) {
    #expect(lines("\(member)\ninit() {}").contains(marker))
  }

  @Test(
    "S7, S8: metadata names the property, its default value as it is written, and what the attribute says",
    arguments: [
      ("var a: Int", #"name: "a", keypath: \Trip.a, defaultValue: nil, metadata: nil"#),
      ("var a: Kind = .long", #"name: "a", keypath: \Trip.a, defaultValue: (.long) as Kind, metadata: nil"#),
      ("var a: Int? = nil", #"name: "a", keypath: \Trip.a, defaultValue: nil, metadata: nil"#),
      (
        "var a: String! = \"x\"",
        #"name: "a", keypath: \Trip.a, defaultValue: ("x") as String?, metadata: nil"#
      ),
      ("var a = Date.now", #"name: "a", keypath: \Trip.a, defaultValue: Date.now, metadata: nil"#),
      (
        "@Attribute(.unique, originalName: \"b\") var a: Int",
        #"name: "a", keypath: \Trip.a, defaultValue: nil, metadata: SwiftData._attribute(\Trip.a, SwiftData.Schema.Attribute(.unique, originalName: "b"))"#
      ),
      (
        "@Attribute var a: Int",
        #"name: "a", keypath: \Trip.a, defaultValue: nil, metadata: SwiftData.Schema.Attribute()"#
      ),
      (
        "@Relationship(deleteRule: .cascade, inverse: \\Stay.trip) var a: [Stay] = []",
        #"name: "a", keypath: \Trip.a, defaultValue: nil, metadata: SwiftData.Schema.Relationship(deleteRule: .cascade, inverse: \Stay.trip)"#
      ),
      (
        "@Relationship(originalName: \"b\", inverse: \\Stay.trip?) var a: [Stay] = []",
        #"name: "a", keypath: \Trip.a, defaultValue: nil, metadata: SwiftData.Schema.Relationship(originalName: "b", inverse: \Stay.trip)"#
      ),
      (
        "@Attribute(.unique) @Relationship(deleteRule: .deny) var a: Stay?",
        #"name: "a", keypath: \Trip.a, defaultValue: nil, metadata: SwiftData.Schema.Relationship(deleteRule: .deny)"#
      ),
      (
        "var `default`: Bool", #"name: "default", keypath: \Trip.`default`, defaultValue: nil, metadata: nil"#
      ),
    ])
  func metadata(_ member: String, _ entry: String) {
    let found = lines("\(member)\ninit() {}")
    #expect(found.contains("SwiftData.Schema.PropertyMetadata(\(entry))"))
  }

  @Test("S9: #Unique and #Index are entries of the metadata, and nothing themselves")
  func keys() {
    let found = lines(
      """
      #Unique<Trip>([\\.name, \\.begins], [\\.code])
      #Index<Trip>([\\.begins])
      var name = ""
      """)
    #expect(
      found.contains(
        #"SwiftData.Schema.PropertyMetadata(name: "SwiftData.Schema.Unique", keypath: \SwiftData.Schema.version, defaultValue: nil, metadata: SwiftData.Schema.Unique<Trip>([\.name, \.begins], [\.code])),"#
      ))
    #expect(
      found.contains(
        #"SwiftData.Schema.PropertyMetadata(name: "SwiftData.Schema.Index", keypath: \SwiftData.Schema.version, defaultValue: nil, metadata: SwiftData.Schema.Index<Trip>([\.begins]))"#
      ))
    #expect(!found.contains { $0.hasPrefix("#") })
  }

  @Test("A property that names a transformer need not be Codable")
  func transformable() {
    let found = lines("@Attribute(.transformable(by: \"Colour\")) var a: Colour\ninit() {}")
    #expect(
      found.contains("SwiftData._begun(&_$backingData).setTransformableValue(forKey: \\.a, to: initialValue)")
    )
    #expect(found.contains("return self.getTransformableValue(forKey: \\.a)"))
    #expect(found.contains("self.setTransformableValue(forKey: \\.a, to: newValue)"))
  }

  @Test("S5: accessors give the place of their property among those that the class keeps")
  func places() {
    let found = lines(
      """
      static var count = 0
      var first: Int
      @Transient var isOpen = false
      @Attribute(.transformable(by: "Colour")) var colour: Colour
      var name: String { "" }
      var last: String
      init() {}
      """)
    #expect(found.contains("if _$backingData?._begin(0, with: initialValue) != true {"))
    #expect(found.contains("if let value = self._value(at: 0, in: _$row, \\.first) {"))
    #expect(found.contains("if _$backingData?._begin(2, with: initialValue) != true {"))
    #expect(found.contains("if let value = self._value(at: 2, in: _$row, \\.last) {"))
    // What a transformer keeps has no short way.
    #expect(!found.contains { $0.contains("_begin(1") || $0.contains("at: 1") })
  }

  @Test("S20, R6: a submodel adds to its superclass's metadata and backing data")
  func submodel() {
    let found = lines("var fare = 0\ninit() {}", of: "class Flight: Trip", isSubmodel: true)
    #expect(found.contains("override class var schemaMetadata: [SwiftData.Schema.PropertyMetadata] {"))
    #expect(
      found.contains(
        "SwiftData._inherited(super.schemaMetadata, at: super._$keyPaths(of: Flight.self)) + ["))
    #expect(
      found.contains("static func _$keyPaths<_Model: Flight>(of type: _Model.Type) -> [AnyKeyPath] {"))
    #expect(found.contains("super._$keyPaths(of: type) + ([\\_Model.fare] as [AnyKeyPath])"))
    #expect(found.contains("required init(backingData: any SwiftData.BackingData<_$ModelRoot>) {"))
    #expect(found.contains("super.init(backingData: backingData)"))
    #expect(found.contains("Flight._takeInitialValues(_$backingData, into: super.persistentBackingData)"))
    #expect(
      !found.contains { $0.contains("_ModelRegistrar()") || $0.hasPrefix("nonisolated extension") })
    // A final class has no submodel that would ask.
    let last = lines("var fare = 0\ninit() {}", of: "final class Flight: Trip", isSubmodel: true)
    #expect(!last.contains { $0.contains("func _$keyPaths") })
  }

  @Test("S77: @ModelActor makes the executor, the container and the initialiser")
  func modelActor() {
    Expanding.expect(
      """
      @ModelActor public actor Keeper {
      }
      """,
      """
      public actor Keeper {

        public nonisolated let modelExecutor: any SwiftData.ModelExecutor

        public nonisolated let modelContainer: SwiftData.ModelContainer

        public init(modelContainer: SwiftData.ModelContainer) {
          let modelContext = SwiftData.ModelContext(modelContainer)
          self.modelExecutor = SwiftData.DefaultSerialModelExecutor(modelContext: modelContext)
          self.modelContainer = modelContainer
        }
      }

      extension Keeper: SwiftData.ModelActor {
      }
      """)
    let own = Expanding.lines("@ModelActor actor Keeper { init(modelContainer: ModelContainer) {} }")
    #expect(own.filter { $0.contains("init(") }.count == 1)
    let other = Expanding.lines("@ModelActor actor Keeper { init(path: String) {} }")
    #expect(other.filter { $0.contains("init(") }.count == 2)
  }
}
