import Foundation
import NSManagedGenerator
import Testing

/// Properties that Objective-C and the model know by another name than Swift.
@Suite("Porting properties with names for Objective-C")
struct PortingNameTests {
  private let source = """
    class App: NSManagedObject {
      @NSManaged @objc(size) internal var _size: Int32
      @objc(source)
      @NSManaged public private(set) var _source: App?
      @objc(versions) @NSManaged var _versions: NSOrderedSet
      @NSManaged @objc(name) var name: String?
      @NSManaged var title: String?
      @objc(caption) var text: String { "" }
      static let keys = [#keyPath(App._source.name), #keyPath(_size), "\\(#keyPath(App._source)).x", #keyPath(Other.title)]
      func f() -> [String] {
        [NSStringFromSelector(#selector(getter: _size)), NSStringFromSelector(#selector(getter: App.name)),
         NSStringFromSelector(#selector(f)), "\\(NSStringFromSelector(#selector(getter: App._source)))"]
      }
    }
    """
  private let others = """
    class Other: NSManagedObject { @NSManaged @objc(heading) var title: String? }
    class Third: NSManagedObject { @NSManaged @objc(long) var _long: String? }
    class Fourth: NSManagedObject { @NSManaged var _long: String? }
    """

  @Test("A remark keeps the name for the plugin, and key paths and selectors of getters become it")
  func names() throws {
    let ported = try Porting.port(source, others)
    #expect(
      ported.text == """
        class App: NSManagedObject {
          // NSManaged: App._size has the key size
          @NSManaged internal var _size: Int32
          // NSManaged: App._source has the key source
          @NSManaged public private(set) var _source: App?
          // NSManaged: App._versions has the key versions
          @NSManaged var _versions: NSOrderedSet
          @NSManaged var name: String?
          @NSManaged var title: String?
          var text: String { "" }
          static let keys = ["source.name", "size", "source.x", "heading"]
          func f() -> [String] {
            ["size", "name",
             NSStringFromSelector(#selector(f)), "source"]
          }
        }
        """)
    #expect(ported.remarks.map(\.line) == [8, 12])
    #expect(ported.remarks.first?.message.contains("App.text as “caption”") == true)
    #expect(ported.edits.contains { $0.line == 2 && $0.message.contains("App._size has the key size") })
    let again = try Porting.port(ported.text, others)
    #expect(again.text == ported.text && again.edits.isEmpty)
    // What is written later finds the name in the remark.
    let later = try Porting.port("let a = #keyPath(App._source.title)", ported.text)
    #expect(later.text == "let a = \"source.title\"")
  }

  @Test("Attributes that are kept have the remark before them, and a second run adds none")
  func keepsAttributes() throws {
    let ported = try Porting.port(
      "class App: NSManagedObject {\n  @NSManaged @objc(size) var _size: Int32\n}\n", keepsAttributes: true)
    #expect(
      ported.text == """
        class App: NSManagedObject {
          // NSManaged: App._size has the key size
          @NSManaged
          #if canImport(ObjectiveC)
          @objc(size)
          #endif
          var _size: Int32
        }

        """)
    #expect(try Porting.port(ported.text, keepsAttributes: true).edits.isEmpty)
  }

  @Test("Where classes differ in what they call a property, its class decides, or its author")
  func ambiguous() throws {
    let ported = try Porting.port(
      "let a = [#keyPath(Third._long), #keyPath(Fourth._long), #keyPath(Other.third._long)]", others)
    #expect(ported.text == "let a = [\"long\", \"_long\", \"third._long\"]")
    #expect(ported.remarks.count == 1 && ported.remarks[0].message.contains("“_long”"))
  }

  @Test("Attributes on lines of their own have the remark between them; names of other classes stay")
  func ownLines() throws {
    let source = """
      class Lib: NSManagedObject {
        public
        @NSManaged
        @objc(size)
        var _size: Int32
      }
      class Job: NSManagedObject { @NSManaged @objc(finished) var isFinished: Bool }
      let keys = [#keyPath(Operation.isFinished), #keyPath(Job.isFinished)]
      """
    let ported = try Porting.port(source)
    #expect(ported.text.contains("// NSManaged: Lib._size has the key size"))
    #expect(ported.text.contains("[\"isFinished\", \"finished\"]"))
  }

  @Test("A remark about a nested class is not about an outer one of its name")
  func nestedNames() throws {
    let ported = try Porting.port(
      """
      enum NS { class App: NSManagedObject { @NSManaged @objc(size) var _size: Int32 } }
      class App: NSManagedObject { @NSManaged var _size: Int32 }
      """)
    #expect(ported.text.contains("// NSManaged: NS.App._size has the key size"))
  }

  @Test("Mutable objects in userInfo are told: Foundation on Linux hands out values")
  func userInfo() throws {
    let source = """
      let a = context.userInfo["pending"] as? NSMutableDictionary
      let b = self.userInfo.object(forKey: key) as! NSMutableSet
      let c = context.userInfo["list"] as? [String]
      let d = table["list"] as? NSMutableArray
      let e = note.userInfo?["list"] as? NSMutableArray
      """
    let ported = try Porting.port(source)
    #expect(ported.text == source && ported.remarks.map(\.line) == [1, 2])
    #expect(ported.remarks.allSatisfy { $0.message.contains("userInfo") })
  }
}
