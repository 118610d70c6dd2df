import Foundation
import Strata
import Testing

/// What a description cannot say, and what no description is: an error with reasons, never a trap.
@Suite struct XcodeModelErrorTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// What is wrong with the bytes as a model; empty when nothing is.
  private func sentences(_ data: Data) throws -> [String] {
    defer { folder.remove() }
    let file = try folder.write("", to: "contents")
    try data.write(to: file)
    do {
      _ = try ManagedObjectModel(contentsOf: file)
      return []
    } catch let error as ModelError {
      #expect(error.sentences.allSatisfy { $0.hasPrefix("contents") })
      return error.sentences
    }
  }

  private func sentences(_ text: String) throws -> [String] { try sentences(Data(text.utf8)) }

  /// A model with one entity `A`, of which `body` is the inside, and a plain entity `B`.
  private func model(_ body: String, _ rest: String = "") -> String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <model>
    <entity name="A">
    \(body)
    </entity><entity name="B"/>\(rest)</model>
    """
  }

  @Test(arguments: [
    (#"<attribute name="x" optional="maybe" attributeType="String"/>"#, #"A.x has optional="maybe""#),
    (#"<attribute name="x" attributeType="Integer 128"/>"#, #"A.x has attributeType="Integer 128""#),
    (#"<attribute name="x"/>"#, "A.x has no attributeType"),
    (#"<attribute attributeType="String"/>"#, "An attribute of A has no name"),
    (#"<attribute name="x" attributeType="Undefined"/>"#, "A.x has no type"),
    (
      #"<attribute name="x" attributeType="Integer 16" defaultValueString="70000"/>"#, "which is no integer16"
    ),
    (#"<attribute name="x" attributeType="Integer 64" defaultValueString="1.5"/>"#, "which is no integer64"),
    (#"<attribute name="x" attributeType="Double" defaultValueString="0x1p3"/>"#, "which is no double"),
    (#"<attribute name="x" attributeType="Double" defaultValueString="nan"/>"#, "which is no double"),
    (#"<attribute name="x" attributeType="Float" defaultValueString="1e300"/>"#, "which is no float"),
    (#"<attribute name="x" attributeType="Decimal" defaultValueString="1.2.3"/>"#, "which is no decimal"),
    (#"<attribute name="x" attributeType="Decimal" defaultValueString="1e999"/>"#, "which is no decimal"),
    (#"<attribute name="x" attributeType="Boolean" defaultValueString="perhaps"/>"#, "which is no boolean"),
    (#"<attribute name="x" attributeType="Binary" defaultValueString="00"/>"#, "which is no binaryData"),
    (#"<attribute name="x" attributeType="Date" defaultDateTimeInterval="soon"/>"#, "which is no date"),
    (#"<attribute name="x" attributeType="Date" minValueString="1/1/1970"/>"#, "without minDateTimeInterval"),
    (#"<attribute name="x" attributeType="String" minValueString="-3"/>"#, "which is no count"),
    (#"<attribute name="x" attributeType="Boolean" maxValueString="1"/>"#, "have no bounds"),
    (#"<attribute name="x" attributeType="Date" regularExpressionString="x"/>"#, "regularExpressionString"),
    (#"<attribute name="x" attributeType="String" regularExpressionString="(["/>"#, "A.x"),
    (#"<attribute name="x" attributeType="Integer 16" minValueString="9" maxValueString="1"/>"#, "A.x"),
    (
      #"<attribute name="x" attributeType="Transformable" valueTransformerName="NSKeyedUnarchiveFromData"/>"#,
      "name none, or one of your own"
    ),
    (#"<attribute name="x" attributeType="String" derived="YES"/>"#, "no derivationExpression"),
    (
      #"<attribute name="x" attributeType="String" derived="YES" derivationExpression="a ++ b"/>"#,
      "which is not supported"
    ),
    (#"<attribute name="x" attributeType="Composite"/>"#, "composite type x, which is not in the model"),
    (#"<attribute name="x" attributeType="Composite" compositeName="C"/>"#, "composite type C"),
    (
      #"<attribute name="x" attributeType="String"/><attribute name="x" attributeType="Date"/>"#,
      "two properties called x"
    ),
    (#"<relationship name="r" maxCount="1"/>"#, "A.r has no destinationEntity"),
    (#"<relationship name="r" maxCount="1" destinationEntity="Z"/>"#, "entity Z, which is not in the model"),
    (#"<relationship name="r" maxCount="2" destinationEntity="B"/>"#, "A.r is to-one and has maxCount"),
    (#"<relationship name="r" toMany="YES" maxCount="1" destinationEntity="B"/>"#, "A.r is to-many and has"),
    (#"<relationship name="r" maxCount="many" destinationEntity="B"/>"#, #"maxCount="many""#),
    (
      #"<relationship name="r" toMany="YES" minCount="5" maxCount="3" destinationEntity="B"/>"#,
      "at least 5 and at most 3"
    ),
    (#"<relationship name="r" deletionRule="Explode" destinationEntity="B"/>"#, #"deletionRule="Explode""#),
    (
      #"<relationship name="r" destinationEntity="B" inverseName="q" inverseEntity="B"/>"#,
      "the inverse B.q, which is not in the model"
    ),
    (
      #"<relationship name="r" destinationEntity="B" inverseName="r" inverseEntity="A"/>"#,
      "does not have its inverse"
    ),
    (#"<relationship name="r" ordered="YES" destinationEntity="B"/>"#, "ordered but to-one"),
    (
      #"<attribute name="x" attributeType="String"/><fetchIndex name="i"><fetchIndexElement property="x" type="RTree"/></fetchIndex>"#,
      "Index A.i is spatial and names x"
    ),
    (#"<fetchIndex name="i"><fetchIndexElement property="x" type="Hash"/></fetchIndex>"#, #"type="Hash""#),
    (
      #"<fetchIndex name="i"><fetchIndexElement expression="a + b" type="Binary"/></fetchIndex>"#,
      "over an expression"
    ),
    (#"<fetchIndex name="i"><fetchIndexElement property="x" order="up"/></fetchIndex>"#, #"order="up""#),
    (#"<fetchIndex name="i"><fetchIndexElement property="nix"/></fetchIndex>"#, "names nix"),
    (
      #"<fetchIndex name="i" partialIndexPredicate="x =="><fetchIndexElement property="x"/></fetchIndex>"#,
      "The predicate of Index A.i cannot be read"
    ),
    (
      #"<attribute name="x" attributeType="String"/><fetchIndex name="i" partialIndexPredicate="y == 1"><fetchIndexElement property="x"/></fetchIndex>"#,
      "A.i"
    ),
    (
      #"<uniquenessConstraints><uniquenessConstraint><constraint value="nix"/></uniquenessConstraint></uniquenessConstraints>"#,
      "names nix"
    ),
    (#"<fetchedProperty name="f"/>"#, "A.f has no fetchRequest"),
    (
      #"<fetchedProperty name="f"><fetchRequest name="r" entity="A" predicateString="x =="/></fetchedProperty>"#,
      "The predicate of fetched property A.f cannot be read"
    ),
    (
      #"<userInfo><entry key="k" value="1"/><entry key="k" value="2"/></userInfo>"#, #"two entries "k""#
    ),
  ])
  func whatIsWrongInAnEntityIsNamed(body: String, words: String) throws {
    let sentences = try sentences(model(body))
    #expect(sentences.contains { $0.contains(words) }, "\(sentences)")
  }

  @Test(arguments: [
    (#"<entity name="B"/>"#, "Two entities are called B"), ("<entity/>", "An entity has no name"),
    (#"<entity name="a/b"/>"#, "contains a slash"),
    (#"<entity name="C" parentEntity="Z"/>"#, "inherits from Z, which is not in the model"),
    (#"<entity name="C" parentEntity="C"/>"#, "Entity C inherits from itself"),
    (
      #"<entity name="C" parentEntity="D"/><entity name="D" parentEntity="C"/>"#,
      "Entity D inherits from itself"
    ),
    (
      #"<configuration name="K"><memberEntity name="Z"/></configuration>"#,
      "K has the member Z, which is not in the model"
    ),
    (#"<configuration name="K"/><configuration name="K"/>"#, "Two configurations are called K"),
    (#"<fetchRequest name="f" entity="Z"/>"#, "fetches entity Z, which is not in the model"),
    (#"<fetchRequest name="f" entity="B" predicateString="a &gt;"/>"#, "fetch request f cannot be read"),
    (#"<fetchRequest name="f" entity="B"/><fetchRequest name="f" entity="B"/>"#, "Two fetch requests"),
    (#"<fetchRequest name="f" entity="B" fetchLimit="-1"/>"#, #"fetchLimit="-1""#),
    (
      #"<composite name="C"><attribute name="c" attributeType="Composite" compositeName="C"/></composite><entity name="E"><attribute name="c" attributeType="Composite" compositeName="C"/></entity>"#,
      "part of itself"
    ),
  ])
  func whatIsWrongInTheModelIsNamed(rest: String, words: String) throws {
    let sentences = try sentences(model("", rest))
    #expect(sentences.contains { $0.contains(words) }, "\(sentences)")
  }

  @Test func allErrorsComeTogetherWithFileLineAndPlace() throws {
    let sentences = try sentences(
      model(
        """
        <attribute name="x" optional="maybe" attributeType="String"/>
        <attribute name="y" attributeType="Colour"/>
        <relationship name="r" ordered="YES" destinationEntity="B"/>
        """, #"<fetchRequest name="f" entity="Q"/>"#))
    #expect(
      sentences == [
        #"contents, line 4: Attribute A.x has optional="maybe", which is neither YES nor NO."#,
        #"contents, line 5: Attribute A.y has attributeType="Colour", which is not known."#,
        "contents, line 7: Fetch request f fetches entity Q, which is not in the model.",
        "contents: Relationship A.r is ordered but to-one.",
      ])
  }

  @Test func whatNewerEditorsAddIsLeftAlone() throws {
    #expect(
      try sentences(
        model(
          #"<attribute name="x" attributeType="String" glow="YES"><sheen/></attribute><aura of="x"/>"#,
          "<halo><halo/></halo>")
      ).isEmpty)
  }

  // MARK: Hostile texts

  @Test func documentTypesAndEntitiesAreRefusedUnread() throws {
    let laughs = """
      <?xml version="1.0"?>
      <!DOCTYPE model [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;">]>
      <model><entity name="&c;"/></model>
      """
    #expect(try sentences(laughs).first?.contains("<!DOCTYPE") == true)
    let external = "<!DOCTYPE m SYSTEM \"file:///etc/hostname\"><model/>"
    #expect(try sentences(external).first?.contains("<!DOCTYPE") == true)
    #expect(try sentences("<model><entity name=\"&a;\"/></model>").count == 1)
  }

  @Test func otherEncodingsAreRefused() throws {
    let text = "<?xml version=\"1.0\" encoding=\"UTF-16\"?><model/>"
    for encoding in [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32] {
      let data = try #require(text.data(using: encoding))
      #expect(try sentences(data).first?.contains("UTF-8") == true)
    }
    #expect(try sentences(text).first?.contains("UTF-16") == true)
    #expect(
      try sentences("<?xml version='1.0' encoding = 'ISO-8859-1' ?><model/>").first?.contains("ISO-8859-1")
        == true)
    let invalid = Data("<model><entity name=\"".utf8) + [0xC3, 0x28] + Data("\"/></model>".utf8)
    #expect(try sentences(invalid).first?.contains("UTF-8") == true)
  }

  @Test func deepAndLargeTextsAreRefused() throws {
    let deep = String(repeating: "<model>", count: 100_000) + String(repeating: "</model>", count: 100_000)
    #expect(try sentences(deep).first?.contains("16 elements") == true)
    let many = "<model>" + String(repeating: "<x/>", count: 250_001) + "</model>"
    #expect(try sentences(many).first?.contains("250000 elements") == true)
    let long = Data("<model>".utf8) + Data(repeating: 32, count: 8 << 20)
    #expect(try sentences(long).first?.contains("8388608 bytes") == true)
  }

  @Test func tenMegabytesOfAttributesAreAnErrorOrAModel() throws {
    let attributes = (0..<160_000).map {
      "<attribute name=\"a\($0)\" optional=\"YES\" attributeType=\"String\"/>"
    }
    let text = "<model><entity name=\"A\">" + attributes.joined() + "</entity></model>"
    #expect(text.utf8.count > 10_000_000)
    #expect(try sentences(text).first?.contains("8388608 bytes") == true)
    let most = "<model><entity name=\"A\">" + attributes.prefix(100_001).joined() + "</entity></model>"
    #expect(try sentences(most).contains { $0.contains("more than 100000 attributes") })
    let few = "<model><entity name=\"A\">" + attributes.prefix(3_000).joined() + "</entity></model>"
    #expect(try sentences(few).isEmpty)
  }

  /// Sixteen composite types of eight elements each would be 8¹⁶ attributes.
  @Test func compositeTypesThatMultiplyAreRefused() throws {
    let types = (0..<15).map { number in
      let element = { (place: Int) in
        "<attribute name=\"e\(place)\" attributeType=\"Composite\" compositeName=\"C\(number + 1)\"/>"
      }
      return "<composite name=\"C\(number)\">" + (0..<8).map(element).joined() + "</composite>"
    }
    let last = "<composite name=\"C15\"><attribute name=\"x\" attributeType=\"String\"/></composite>"
    let sentences = try sentences(
      model(#"<attribute name="c" attributeType="Composite" compositeName="C0"/>"#, types.joined() + last))
    #expect(sentences.contains { $0.contains("more than 100000 attributes") }, "\(sentences.prefix(3))")
  }

  @Test func longChainsOfParentsAreRefused() throws {
    let entities = (0..<4_000).map { "<entity name=\"E\($0)\" parentEntity=\"E\($0 + 1)\"/>" }
    #expect(try sentences("<model>" + entities.joined() + "<entity name=\"E4000\"/></model>").count > 100)
    let short = entities.prefix(100).joined() + "<entity name=\"E100\"/>"
    #expect(try sentences("<model>" + short + "</model>").isEmpty)
  }

  @Test func truncatedTextsAreErrors() throws {
    let whole = try Data(contentsOf: Self.whole)
    for length in stride(from: 0, to: whole.count - 20, by: 97) {
      #expect(try !sentences(whole.prefix(length)).isEmpty, "after \(length) bytes")
    }
    #expect(try sentences(whole).isEmpty)
    #expect(try sentences("<entity name=\"A\"/>").first?.contains("“entity”") == true)
    #expect(try sentences("<model/><model/>").count == 1)
  }

  /// The current version of the fixture with bytes changed, dropped, doubled and moved: a model or an error.
  @Test func mutatedModelsAreModelsOrErrors() throws {
    let seed = ProcessInfo.processInfo.environment["STRATA_SEED"].flatMap(UInt64.init) ?? 20_261_122
    let count = ProcessInfo.processInfo.environment["STRATA_MUTATIONS"].flatMap(Int.init) ?? 1_000
    print("mutation seed \(seed)")
    var state = seed
    func below(_ limit: Int) -> Int {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      return Int(truncatingIfNeeded: (state >> 33) % UInt64(max(1, limit)))
    }
    let whole = [UInt8](try Data(contentsOf: Self.whole))
    let words = [
      "YES", "NO", "\"", "<", "/>", "99999999999", "-1", "&lt;", "Composite", "Book", "\u{0}", "é", "..", "",
    ]
    var refused = 0
    for _ in 0..<count {
      var bytes = whole
      for _ in 0...below(3) {
        let place = below(bytes.count)
        switch below(5) {
        case 0: bytes[place] = UInt8(below(256))
        case 1: bytes.removeSubrange(place..<min(bytes.count, place + 1 + below(40)))
        case 2: bytes.insert(contentsOf: bytes[place...].prefix(below(200)), at: below(bytes.count))
        case 3: bytes.insert(contentsOf: Array(words[below(words.count)].utf8), at: place)
        default: bytes[place] = UInt8(33 + below(90))
        }
      }
      if try !sentences(Data(bytes)).isEmpty { refused += 1 }
    }
    // Most of a model is names: some mutations leave it one.
    #expect(refused > count / 10 && refused < count)
  }

  @Test("Defaults from which Xcode builds none leave the attribute without one, and are told")
  func ignoredDefaults() async throws {
    defer { folder.remove() }
    let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
      let folder = try TemporaryFolder()
      defer { folder.remove() }
      let file = try folder.write(
        """
        <model><entity name="A">
        <attribute name="id" optional="YES" attributeType="UUID" defaultValueString="empy"/>
        <attribute name="day" optional="YES" attributeType="Date" defaultValueString="1/1/1970"/>
        <attribute name="key" attributeType="UUID" defaultValueString="00000000-0000-0000-0000-000000000001"/>
        <attribute name="time" attributeType="Date" defaultDateTimeInterval="60" defaultValueString="soon"/>
        </entity></model>
        """, to: "contents")
      let entity = try #require(try ManagedObjectModel(contentsOf: file).entitiesByName["A"])
      let defaults = entity.attributesByName.mapValues(\.defaultValue)
      #expect(defaults["id"] ?? nil == nil && defaults["day"] ?? nil == nil)
      #expect(defaults["key"] as? UUID == UUID(uuidString: "00000000-0000-0000-0000-000000000001"))
      #expect(defaults["time"] as? Date == Date(timeIntervalSinceReferenceDate: 60))
    }
    let told = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(told.contains(#"A.id has defaultValueString="empy", which is no uuid"#), "\(told)")
    #expect(told.contains(#"A.day has defaultValueString="1/1/1970", without defaultDateTimeInterval"#))
    #expect(!told.contains("A.key") && !told.contains("A.time"))
  }

  private static let whole = repository.appendingPathComponent(
    "Tests/StrataTests/Models/Shop.xcdatamodeld/Shop 2.xcdatamodel/contents")
}
