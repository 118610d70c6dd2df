import Foundation
import NSManagedGenerator
import Testing

/// What the scanner makes of sources that are hard to read, and what it says of those it cannot use.
@Suite("Sources with @NSManaged")
struct ScannerTests {
  /// The generated text and what is wrong, for one file of module M.
  private func generate(_ source: String, dependency: String? = nil, named name: String = "Bank") throws -> (
    text: String, problems: [String]
  ) {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("scanner-\(UUID().uuidString)")
    let bank = folder.appendingPathComponent("Bank")
    try FileManager.default.createDirectory(at: bank, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let file = folder.appendingPathComponent("File.swift")
    let output = folder.appendingPathComponent("out.swift")
    try Data(source.utf8).write(to: file)
    var arguments = ["--module", "M", "--output", output.path, "--source", file.path]
    if let dependency {
      try Data(dependency.utf8).write(to: bank.appendingPathComponent("Bank.swift"))
      arguments += ["--dependency", name, bank.path]
    }
    let problems = try GeneratorOrder(arguments: arguments).carryOut()
    let text = (try? String(contentsOf: output, encoding: .utf8)) ?? ""
    return (text, problems.map { $0.replacingOccurrences(of: file.path, with: "File.swift") })
  }

  /// The names of the properties that have a getter.
  private func properties(_ text: String) -> [String] {
    text.matches(of: /func _get_(\S+)\(/).map { String($0.output.1) }
  }

  @Test("Comments, strings of all kinds, regular expressions and bodies hide nothing and show nothing")
  func hardToRead() throws {
    let result = try generate(
      ##"""
      import CoreData
      // @NSManaged var no1: Int
      /* @NSManaged var no2: Int /* nested */ @NSManaged var no3: Int */
      let text = "class X: NSManagedObject { @NSManaged var no4: Int } \(["}": "\(1 + 2)"]["}"]!) }"
      let long = """
        class Y: NSManagedObject { @NSManaged var no5: Int " "" \(text + "}")
        """
      let raw = #"a " } \#("}") { @NSManaged var no6: Int"#
      let half = 4 / 2 / 1
      let regex = #/[{"]/#
      class Base: NSManagedObject { func f(class name: String) -> Bool { text.contains(/"{/) } ; @NSManaged var a: Int }
      @objc(Thing) public final class Thing :
        Base , Sendable
      {
        @objc @available(macOS 12, *) @NSManaged
        public
        var b :
          String?
        @NSManaged var `in`, c: Int16; @NSManaged internal var d: [String: [Int]]
        var e: Int { struct Local {}; if true { return { 1 }() }; return 2 }
        public @NSManaged var f: Bool
        class func make() -> Thing? { nil }
        struct Inner<T: Hashable> where T: Sendable { var x: T }
        enum Deep: Int { case one; class Nested: NSManagedObject { @NSManaged var g: Deep } }
      }
      private extension Thing { @NSManaged var h: Int }
      """##)
    #expect(result.problems == [])
    #expect(
      properties(result.text) == [
        "Base_a", "Thing_b", "Thing_in", "Thing_c", "Thing_d", "Thing_f", "Thing_Deep_Nested_g", "Thing_h",
      ])
    // In a private extension a member is the file's, which its symbol says.
    #expect(result.text.contains(/"\$s1M5ThingC1h33_[0-9A-F]{32}LLSivg"/))
  }

  @Test("Conditions are written around their content")
  func conditions() throws {
    let result = try generate(
      """
      import CoreData
      class A: NSManagedObject {
        #if os(macOS)
        @NSManaged var no: NSImage?
        #elseif DEBUG && compiler(>=6)
        @NSManaged var a: Int
        #else
        @NSManaged var b: Unknown
        #endif
        @NSManaged var c: Int
      }
      """)
    #expect(result.problems == [])
    #expect(properties(result.text) == ["A_a", "A_c"])
    #expect(result.text.contains("#if !(os(macOS)) && (DEBUG && compiler(>=6))"))
    #expect(result.text.contains("#error("))
    #expect(!result.text.contains("NSImage"))
  }

  @Test("Types of other modules are found in their sources, or said in a comment")
  func otherModules() throws {
    let bank = "public struct Money { public enum Unit: Int { case a } }\npublic typealias Cash = Money\n"
    let source = """
      import Bank
      import CoreData
      // NSManaged: Vault.Key is a class
      class A: NSManagedObject {
        @NSManaged var a: Money?
        @NSManaged var b: Bank.Money.Unit
        @NSManaged var c: Cash?
        @NSManaged var d: Vault.Key?
      }
      """
    let result = try generate(source, dependency: bank)
    #expect(result.problems == [])
    #expect(
      result.text.contains("$s1M1AC1a4Bank5MoneyVSgvg")
        && result.text.contains("$s1M1AC1b4Bank5MoneyV4UnitOvg"))
    #expect(
      result.text.contains("$s1M1AC1c4Bank5MoneyVSgvg") && result.text.contains("$s1M1AC1d5Vault3KeyCSgvg"))
    #expect(result.text.contains("import Bank"))
  }

  @Test("What cannot be generated is an error with file, line and column")
  func problems() throws {
    let result = try generate(
      """
      import CoreData
      class A: NSManagedObject {
        @NSManaged var a: Mystery?
        @NSManaged var b: (Int) -> Void
        @NSManaged func doSomething()
      }
      class B: NSObject {
        @NSManaged var c: Int
      }
      struct C { @NSManaged var d: Int }
      class G<T>: NSManagedObject { @NSManaged var e: Int }
      """)
    #expect(
      result.problems.map { $0.prefix { $0 != "“" } }.map(String.init) == [
        "File.swift:3:18: error: cannot find out what kind of type ",
        "File.swift:4:18: error: ",
        "File.swift:8:18: error: @NSManaged stands in B, which is no subclass of NSManagedObject",
        "File.swift:10:27: error: @NSManaged stands in C, which is no class",
        "File.swift:11:46: error: @NSManaged in a generic class or in an extension with conditions cannot be generated",
        "File.swift:5:19: error: Core Data generates no method ",
      ])
    #expect(result.text.isEmpty)
  }

  @Test("A target without managed classes gets only the names it uses")
  func nothing() throws {
    #expect(try !generate("import Foundation\nlet a = 1").text.contains("import"))
    let shared = try generate("import CoreData\nfunc f(_ e: NSExpression) {}").text
    #expect(
      shared.contains("typealias NSExpression = CoreData.NSExpression") && !shared.contains("NSComparison"))
    #expect(try !generate("struct NSExpression {}\nlet e = NSExpression()").text.contains("typealias"))
  }

  @Test("A class that another module gives another name is written as the source writes it")
  func namesOfOtherModules() throws {
    let result = try generate(
      """
      import Bank
      import CoreData
      class Book: NSManagedObject {
        @NSManaged var safe: Safe?
        @NSManaged var others: Set<Safe>
      }
      """, dependency: "public typealias Safe = Vault.Box\npublic enum Vault { public class Box {} }\n")
    #expect(result.problems.isEmpty)
    #expect(result.text.contains("-> Safe?") && result.text.contains("-> Set<Safe>"))
    #expect(result.text.contains("4Bank5VaultO3BoxC"))
  }

  @Test("A target may have types that are called like this package's, or like the standard library's")
  func ownTypes() throws {
    let coreData = "import StrataCore\npublic typealias NSManagedObject = ManagedObject\n"
    for own in [
      "protocol ManagedObject: AnyObject {}", "struct ManagedObject {}", "typealias ManagedObject = Int",
    ] {
      let result = try generate(
        """
        import CoreData
        \(own)
        struct NSManagedAccessor {}
        enum NSManagedPrimitive {}
        struct Dictionary {}
        class Folder: NSManagedObject {
          @NSManaged var owner: NSManagedObject?
          @NSManaged var all: Set<NSManagedObject>
          @NSManaged var map: [String: Int]?
          @NSManaged var primitiveMap: [String: Int]?
          var label: String { "" }
        }
        """, dependency: coreData, named: "CoreData")
      #expect(result.problems == [], "\(own)")
      #expect(result.text.contains("$s1M6FolderC5owner10StrataCore13ManagedObjectCSgvg"))
      #expect(result.text.contains("$s1M6FolderC3allShy10StrataCore13ManagedObjectCGvg"))
      #expect(result.text.contains("-> Swift.Dictionary<String, Int>?"))
      #expect(result.text.contains("_owner = CoreData.NSManagedAccessor("))
      #expect(result.text.contains("_primitiveMap = CoreData.NSManagedPrimitive("))
      #expect(result.text.contains("keys.add(\"label\", \\Folder.label)"))
    }
  }

  @Test("A class called ManagedObject is what its superclass makes of it")
  func ownManagedObject() throws {
    let coreData = "import StrataCore\npublic typealias NSManagedObject = ManagedObject\n"
    func source(_ superclass: String) -> String {
      """
      import CoreData
      class ManagedObject: \(superclass) { var caption: String { "" } }
      final class Mood: ManagedObject {
        @NSManaged var base: ManagedObject?
        @NSManaged var other: NSManagedObject?
      }
      """
    }
    let managed = try generate(source("NSManagedObject"), dependency: coreData, named: "CoreData")
    #expect(managed.problems == [])
    #expect(managed.text.contains("$s1M4MoodC4baseAA13ManagedObjectCSgvg"))
    #expect(managed.text.contains("$s1M4MoodC5other10StrataCore13ManagedObjectCSgvg"))
    #expect(managed.text.contains("\\ManagedObject.caption"))
    let plain = try generate(source("NSObject"), dependency: coreData, named: "CoreData")
    #expect(
      plain.problems.count == 2 && plain.problems.allSatisfy { $0.contains("no subclass of NSManagedObject") }
    )
  }

  @Test("What another module calls a type of its own is that, whatever the target calls so")
  func namesMeanWhatTheyDoThere() throws {
    let result = try generate(
      """
      import Bank
      import CoreData
      struct Money {}
      class A: NSManagedObject {
        @NSManaged var a: Cash?
        @NSManaged var b: Purse
        @NSManaged var c: Money?
      }
      """,
      dependency: "public struct Money {}\npublic typealias Cash = Money\npublic typealias Purse = [Money]\n")
    #expect(result.problems == [])
    #expect(
      result.text.contains("$s1M1AC1a4Bank5MoneyVSgvg") && result.text.contains("$s1M1AC1bSay4Bank5MoneyVGvg")
    )
    #expect(result.text.contains("$s1M1AC1cAA5MoneyVSgvg") && result.text.contains("-> Array<Bank.Money>"))
  }

  @Test(
    "A remark says what key a property has; methods of relationships go by it, and one about nothing is an error"
  )
  func keys() throws {
    let source = """
      import CoreData
      class Outer {
        class App: NSManagedObject {
          // NSManaged: App._source has the key source
          @NSManaged var _source: App?
          @NSManaged var _parts: NSOrderedSet
          @NSManaged func addToParts(_ part: App)
          @nonobjc var source: App? { _source }
          @nonobjc
          var hidden: Int { 1 }
          var shown: Int { 2 }
        }
      }
      // NSManaged: Outer.App._parts has the key Parts.
      """
    let result = try generate(source)
    #expect(result.problems == [])
    #expect(result.text.contains("_Outer_App__source = NSManagedAccessor(\"source\")"))
    #expect(result.text.contains("_Outer_App__parts = NSManagedAccessor(\"Parts\")"))
    #expect(result.text.matches(of: /_addToParts_\d+ = NSManagedAccessor\("Parts"\)/).count == 1)
    // Nobody finds by name what Objective-C would not know.
    #expect(result.text.contains("\"shown\"") && !result.text.contains("\"hidden\""))
    #expect(!result.text.contains("keys.add(\"source\""))
    // Between attributes, where the porter writes it.
    let between = try generate(
      """
      import CoreData
      class Lib: NSManagedObject {
        public
        // NSManaged: Lib._name has the key name
        @NSManaged
        // NSManaged: Lib._size has the key size
        var _size: Int32
        @NSManaged var _name: String?
      }
      """)
    #expect(between.problems == [])
    #expect(between.text.contains("_Lib__size = NSManagedAccessor(\"size\")"))
    #expect(between.text.contains("_Lib__name = NSManagedAccessor(\"name\")"))
    for (wrong, message) in [
      ("App._nothing has the key x", "there is no @NSManaged property “App._nothing”"),
      ("Other._source has the key x", "there is no @NSManaged property “Other._source”"),
      ("_source has the key source", "name the class too"),
      ("App._source has a key", "in a way not known"),
    ] {
      let problems = try generate(source + "\n// NSManaged: " + wrong).problems
      #expect(problems.count == 1 && problems[0].hasPrefix("File.swift:15:1: error: "), "\(problems)")
      #expect(problems.first?.contains(message) == true)
    }
  }
}
