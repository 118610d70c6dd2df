import Foundation
import NSManagedGenerator
import Testing

/// Forms of ordinary code that the command has to know.
@Suite("Forms of Core Data code")
struct PortingFormTests {
  @Test("Key paths in texts, of any depth and kind, are edited as others are")
  func interpolations() throws {
    let ported = try Porting.port(
      ##"""
      let a = NSPredicate(format: "\(#keyPath(Book.title)) == %@ AND \(#keyPath(Book.pages) + "x") > 1", "b")
      let b = "\(names.map { "\(#keyPath(Book.title)).\($0)" }) #keyPath(Book.title)"
      let c = #"\#(#keyPath(Book.title)) \(#keyPath(Book.title))"#
      let d = """
        \(#keyPath(Book.title)) // \(
          count // )
        )
        """
      #if canImport(ObjectiveC)
      let e = "\(#keyPath(Book.title))"
      #endif
      center.addObserver(self, selector: #selector(Book.saved), name: .init("\(#keyPath(Book.title))"), object: nil)
      let f = "\(#selector(tapped))"
      class Book { func saved() {} }
      """##)
    #expect(
      ported.text == ##"""
        let a = NSPredicate(format: "title == %@ AND \("pages" + "x") > 1", "b")
        let b = "\(names.map { "title.\($0)" }) #keyPath(Book.title)"
        let c = #"title \(#keyPath(Book.title))"#
        let d = """
          title // \(
            count // )
          )
          """
        #if canImport(ObjectiveC)
        let e = "\(#keyPath(Book.title))"
        #endif
        center.addObserver(self, name: .init("title"), object: nil) { observer, _ in observer.saved() }
        let f = "\(#selector(tapped))"
        class Book { func saved() {} }
        """##)
    #expect(ported.remarks.map(\.line) == [13])
    #expect(try Porting.port(ported.text).edits.isEmpty)
  }

  @Test("Types and modules before a key path's properties are told apart from properties in capitals")
  func keyPathNames() throws {
    let ported = try Porting.port(
      "let a = [#keyPath(Book.URL.path), #keyPath(myModule.Book.title), #keyPath(Lib.Thing.ID), #keyPath(Thing.ID.x), #keyPath(a.b)]\nclass Book {}"
    )
    #expect(ported.text == "let a = [\"URL.path\", \"title\", \"ID\", \"ID.x\", \"a.b\"]\nclass Book {}")
  }

  @Test("Casts of what certainly is a request become copies; others are told")
  func casts() throws {
    let ported = try Porting.port(
      """
      let a = Book.fetchRequest() as! NSFetchRequest<Book>
      let b = try context.fetch(T.fetchRequest() as! NSFetchRequest<T>).first
      let request: NSFetchRequest<Book> = Book.fetchRequest()
      let c = NSBatchDeleteRequest(fetchRequest: request as! NSFetchRequest<NSFetchRequestResult>)
      let d = NSFetchRequest<Book>(entityName: "Book") as! NSFetchRequest<NSFetchRequestResult>
      func execute(_ store: NSPersistentStoreRequest) { run(store as! NSFetchRequest<NSManagedObject>) }
      let e = request as? NSFetchRequest<NSFetchRequestResult>
      let f = model.fetchRequestTemplate(forName: "x") as! NSFetchRequest<Book>
      if let g = request as? NSFetchRequest<NSFetchRequestResult>, let h = store as? NSFetchRequest<NSFetchRequestResult> {}
      let i = request as? NSFetchRequest<Thing>
      """)
    #expect(
      ported.text == """
        let a = NSFetchRequest<Book>(Book.fetchRequest())
        let b = try context.fetch(NSFetchRequest<T>(T.fetchRequest())).first
        let request: NSFetchRequest<Book> = Book.fetchRequest()
        let c = NSBatchDeleteRequest(fetchRequest: NSFetchRequest<NSFetchRequestResult>(request))
        let d = NSFetchRequest<NSFetchRequestResult>(NSFetchRequest<Book>(entityName: "Book"))
        func execute(_ store: NSPersistentStoreRequest) { run(store as! NSFetchRequest<NSManagedObject>) }
        let e = Optional(NSFetchRequest<NSFetchRequestResult>(request))
        let f = model.fetchRequestTemplate(forName: "x") as! NSFetchRequest<Book>
        if let g = Optional(NSFetchRequest<NSFetchRequestResult>(request)), let h = store as? NSFetchRequest<NSFetchRequestResult> {}
        let i = request as? NSFetchRequest<Thing>
        """)
    #expect(ported.remarks.map(\.line) == [6, 8, 9, 10])
  }

  @Test("A name that the file declares as something else, too, is not taken for a request")
  func uncertainNames() throws {
    let source = """
      func a(request: NSFetchRequest<Book>) { b(request as! NSFetchRequest<NSFetchRequestResult>) }
      func b(_ request: NSPersistentStoreRequest) {}
      """
    let ported = try Porting.port(source)
    #expect(ported.text == source && ported.remarks.count == 1)
  }

  @Test("Handlers get what their parameter is; comments and what else is in the call stay")
  func observers() throws {
    let ported = try Porting.port(
      """
      center.addObserver(self, selector: #selector(saved(_:)), name: UIApplication.didEnd, object: nil)
      center.addObserver(
        self,  // me
        selector: #selector(told),
        name: .x,  // this
        object: nil)
      center.addObserver(self, selector: #selector(any), name: .x, object: nil)
      center.addObserver(self, selector: /* why */ #selector(told), name: .x, object: nil)
      class A {
        @objc func saved(_ note: NSNotification) {}
        @objc func told(note: Foundation.NSNotification!) {}
        @objc func any(_ sender: AnyObject) {}
      }
      """, "class B { func saved(_ note: Notification) {} }")
    #expect(
      ported.text == """
        center.addObserver(self, name: UIApplication.didEnd, object: nil) { $0.saved($1 as NSNotification) }
        center.addObserver(
          self,  // me
          name: .x,  // this
          object: nil) { $0.told(note: $1 as NSNotification) }
        center.addObserver(self, name: .x, object: nil) { $0.any($1 as AnyObject) }
        center.addObserver(self, selector: /* why */ #selector(told), name: .x, object: nil)
        class A {
          func saved(_ note: NSNotification) {}
          func told(note: Foundation.NSNotification!) {}
          func any(_ sender: AnyObject) {}
        }
        """)
    #expect(ported.remarks.map(\.line) == [1, 8])
  }

  @Test("Imports of one line are separated; a second run finds nothing to do for any module")
  func imports() throws {
    let source =
      "import UIKit; import CoreData; import os // x\nimport UIKit;\nimport os.log\nimport MapKit\n"
      + "@preconcurrency import UserNotifications\nimport struct CryptoKit.SHA256\nimport WidgetKit\n"
    let ported = try Porting.port(source)
    #expect(
      ported.text.hasPrefix(
        "#if canImport(UIKit)\nimport UIKit\n#endif\nimport CoreData\n#if canImport(os)\nimport os\n#endif // x\n"
          + "#if canImport(UIKit)\nimport UIKit\n#endif\n#if canImport(os)\nimport os.log\n#endif\n"))
    #expect(
      ported.text.contains(
        "#if canImport(UserNotifications)\n@preconcurrency import UserNotifications\n#endif\n"))
    #expect(ported.text.contains("#if canImport(CryptoKit)\nimport struct CryptoKit.SHA256\n#endif\n"))
    let again = try Porting.port(ported.text)
    #expect(again.text == ported.text && again.edits.isEmpty && again.remarks.isEmpty)
    let plain = try Porting.port("import CoreData; import UIKit\n")
    #expect(plain.text == "import CoreData\n#if canImport(UIKit)\nimport UIKit\n#endif\n")
  }

  @Test("Initialisers that call one which becomes a convenience initialiser become one as well")
  func hierarchies() throws {
    let ported = try Porting.port(
      """
      class Sub: Base {
        init(y: Int) { super.init(x: y) }
        override init(x: Int) { super.init(x: x) }
        override init(entity: E, insertInto c: C?) { super.init(entity: entity, insertInto: c) }
      }
      """, "class Base: NSManagedObject { init(x: Int) { super.init(entity: e, insertInto: nil) } }")
    #expect(
      ported.text == """
        class Sub: Base {
          convenience init(y: Int) { self.init(x: y) }
          override init(x: Int) { super.init(x: x) }
          override init(entity: E, insertInto c: C?) { super.init(entity: entity, insertInto: c) }
        }
        """)
    #expect(ported.remarks.map(\.line) == [3])
  }

  @Test("With attributes kept, those behind others stay, and so does dynamic")
  func keptAttributes() throws {
    let ported = try Porting.port(
      """
      @MainActor @objc class A: NSObject {
        @NSManaged @objc(isC)  public var c: Bool
        @objc dynamic var d = 1
        public @objc var e: Int { 1 }
      }
      """, keepsAttributes: true)
    #expect(
      ported.text == """
        @MainActor
        #if canImport(ObjectiveC)
        @objc
        #endif
        class A: NSObject {
          // NSManaged: A.c has the key isC
          @NSManaged
          #if canImport(ObjectiveC)
          @objc(isC)
          #endif
          public var c: Bool
          #if canImport(ObjectiveC)
          @objc
          #endif
          dynamic var d = 1
          public var e: Int { 1 }
        }
        """)
    #expect(try Porting.port(ported.text, keepsAttributes: true).edits.isEmpty)
    #expect(
      try Porting.port("class A {\n  @objc\n  dynamic\n  var b = 1\n}").text == "class A {\n  var b = 1\n}")
  }

  @Test("Lines are ended as the file ends its own")
  func lineEnds() throws {
    let ported = try Porting.port("import UIKit\r\n@objc\r\nclass A {}\r\n", keepsAttributes: true)
    #expect(
      ported.text
        == "#if canImport(UIKit)\r\nimport UIKit\r\n#endif\r\n#if canImport(ObjectiveC)\r\n@objc\r\n#endif\r\nclass A {}\r\n"
    )
  }

  @Test("A protection class is handed over as a text, which is an object everywhere")
  func protection() throws {
    #expect(
      try Porting.port("d.setOption(FileProtectionType.complete as NSObject, forKey: key)").text
        == "d.setOption(FileProtectionType.complete.rawValue as NSString, forKey: key)")
  }

  @Test("Casts to Set of what stands for a relationship are told: they make an empty set")
  func relationshipSets() throws {
    let ported = try Porting.port(
      """
      let a = trip.mutableSetValue(forKey: "entries") as! Set<Entry>
      let b = trip.mutableSetValue(forKey: "entries")
      let c = b as? Set<Entry>
      let d = trip.value(forKey: "entries") as? Set<Entry>
      let e = Set(trip.mutableSetValue(forKey: "entries").allObjects as! [Entry])
      let f = other.b as? Set<Entry>
      """)
    #expect(ported.remarks.map(\.line) == [1, 3] && ported.edits.isEmpty)
    #expect(ported.remarks.allSatisfy { $0.message.contains("allObjects") })
  }

  @Test("What the compiler does not say, or says unclearly, is told with its line")
  func remarks() throws {
    let ported = try Porting.port(
      #"""
      import os
      @objc(CDThing) class Thing: NSManagedObject {}
      @objc(Same) class Same: NSManagedObject {}
      enum Outer { @objc(Owner) class Owner: NSManagedObject {} }
      class Model: ObservableObject { @Published var x = 1 }
      let a = [1, 2] as CVarArg
      let b = values[0] as CVarArg
      os_log("x")
      let c = Logger(subsystem: "x", category: "y")
      description.cloudKitContainerOptions = nil
      func controller(_ c: C, didChangeContentWith snapshot: NSDiffableDataSourceSnapshotReference) {}
      let d = Selector(("saved:"))
      class Note: NSManagedObject { override class func automaticallyNotifiesObservers(forKey key: String) -> Bool { false } }
      """#)
    #expect(ported.remarks.map(\.line) == [1, 2, 4, 5, 6, 8, 9, 10, 11, 12, 13])
    #expect(ported.remarks.first { $0.line == 2 }?.message.contains("write Thing for CDThing") == true)
    #expect(ported.remarks.first { $0.line == 4 }?.message.contains("Outer.Owner.self") == true)
    let imported = try Porting.port("import Combine\nclass Model: ObservableObject { @Published var x = 1 }")
    #expect(imported.remarks.map(\.line) == [1])
    let logger = try Porting.port("import Logging\nlet c = Logger(label: \"x\")")
    #expect(logger.remarks.isEmpty)
  }

  @Test("A file that is replaced by Foundation is told: on Linux it would be gone")
  func replacedFiles() throws {
    let ported = try Porting.port(
      """
      try FileManager.default.replaceItemAt(url, withItemAt: other)
      try manager.replaceItem(at: url, withItemAt: other, backupItemName: nil, options: [],
        resultingItemURL: nil)
      list.replaceItem(at: 3, with: other)
      func replaceItemAt(_ url: URL, withItemAt other: URL) {}
      try coordinator.replacePersistentStore(
        at: url, withPersistentStoreFrom: other, ofType: NSSQLiteStoreType)
      """)
    #expect(ported.remarks.map(\.line) == [1, 2] && ported.edits.isEmpty)
    #expect(ported.remarks.allSatisfy { $0.message.contains("replacePersistentStore") })
  }

  @Test("Predicates and sort descriptors that are archived are told: Foundation on Linux stops the process")
  func archivedCriteria() throws {
    let ported = try Porting.port(
      """
      let a = try NSKeyedArchiver.archivedData(withRootObject: request.predicate!, requiringSecureCoding: true)
      let b = NSKeyedArchiver.archivedData(withRootObject: NSPredicate(format: "a == 1"))
      let c = try NSKeyedArchiver.archivedData(withRootObject: [NSSortDescriptor(key: "a", ascending: true)],
        requiringSecureCoding: false)
      var order: [NSSortDescriptor] = []
      let d = try NSKeyedArchiver.archivedData(withRootObject: self.order, requiringSecureCoding: true)
      let filter = NSCompoundPredicate(andPredicateWithSubpredicates: [])
      let e = try NSKeyedArchiver.archivedData(withRootObject: filter, requiringSecureCoding: true)
      let f = try NSKeyedArchiver.archivedData(withRootObject: color, requiringSecureCoding: true)
      let g = try NSKeyedArchiver.archivedData(withRootObject: filter.predicateFormat, requiringSecureCoding: true)
      let h = try NSKeyedArchiver.archivedData(withRootObject: NSPredicate(value: true).predicateFormat)
      let i = Archive.archivedData(filter)
      """)
    #expect(ported.remarks.map(\.line) == [1, 2, 3, 6, 8] && ported.edits.isEmpty)
    #expect(ported.remarks.allSatisfy { $0.message.contains("predicateFormat") })
  }
}
