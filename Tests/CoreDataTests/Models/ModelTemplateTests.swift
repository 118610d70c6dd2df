import CoreData
import Foundation
import Testing

@Suite("Fetch request templates of models that are read")
struct ModelTemplateTests {
  private func write() throws -> URL {
    let url = try Journal.makeFolder().appendingPathComponent("Birds.xcdatamodel")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    let text = """
      <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
      <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0">
        <entity name="Bird">
          <attribute name="tally" optional="YES" attributeType="Integer 64"/>
        </entity>
        <fetchRequest name="manyOf" entity="Bird" predicateString="tally &gt; $TALLY"/>
      </model>
      """
    try Data(text.utf8).write(to: url.appendingPathComponent("contents"))
    return url
  }

  private func check(_ model: NSManagedObjectModel?) {
    let request = model?.fetchRequestFromTemplate(
      withName: "manyOf", substitutionVariables: ["TALLY": 3 as NSNumber])
    #expect(request?.entityName == "Bird" && request?.predicate != nil)
    #expect(model?.fetchRequestTemplatesByName.keys.sorted() == ["manyOf"])
  }

  @Test("A model read from a file has its templates, as do models merged and copied from it")
  func read() throws {
    let url = try write()
    let model = try #require(NSManagedObjectModel(contentsOf: url))
    check(model)
    check(NSManagedObjectModel(byMerging: [model]))
    check(model.copy() as? NSManagedObjectModel)
  }

  @Test("Templates and fetched properties keep the methods of texts that their sort descriptors name")
  func textOrders() throws {
    let model = try #require(NSManagedObjectModel(contentsOf: try write()))
    let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Bird")
    request.sortDescriptors = [
      NSSortDescriptor(key: "name", ascending: true, selector: "localizedStandardCompare:"),
      NSSortDescriptor(key: "tally", ascending: false),
    ]
    model.setFetchRequestTemplate(request, forName: "sorted")
    let template = model.fetchRequestTemplate(forName: "sorted")
    #expect(template?.sortDescriptors == request.sortDescriptors)
    let bound = model.fetchRequestFromTemplate(withName: "sorted", substitutionVariables: [:])
    #expect(bound?.sortDescriptors == request.sortDescriptors)
    let property = NSFetchedPropertyDescription()
    property.fetchRequest = request
    #expect(property.fetchRequest?.sortDescriptors == request.sortDescriptors)
  }
}
