import Foundation

/// Reads bytes as a model in Xcode's XML. What is one must compile, be kept as a store keeps it, and be read from there.
enum XcodeProbe {
  static func run(_ bytes: UnsafeRawBufferPointer) -> Bool {
    let model: ManagedObjectModel
    do { model = try ManagedObjectModel(xcodeContents: Data(bytes), file: "contents") } catch {
      precondition(!error.sentences.isEmpty, "what is refused has a reason")
      return false
    }
    guard let data = try? ModelCoding.encode(model) else { preconditionFailure("what is read can be kept") }
    precondition((try? ModelCoding.decode(data)) != nil, "what is kept can be read")
    // Rows may still be too long, which compiling says.
    _ = try? model.schema()
    return true
  }

  static func samples() -> [[UInt8]] { [whole, small].map { Array($0.utf8) } }

  private static let small = "<model><entity name=\"A\"/></model>"

  private static let whole = """
    <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
    <model type="com.apple.IDECoreDataModeler.DataModel" documentVersion="1.0" userDefinedModelVersionIdentifier="v1">
      <entity name="Thing" isAbstract="YES" representedClassName="NSManagedObject" elementID="Old" syncable="YES">
        <attribute name="code" attributeType="String" minValueString="2" maxValueString="9" regularExpressionString="[A-Z]+"/>
        <attribute name="size" optional="YES" attributeType="Integer 16" minValueString="0" maxValueString="99" defaultValueString="7" indexed="YES"/>
        <attribute name="made" optional="YES" attributeType="Date" minDateTimeInterval="-60" defaultDateTimeInterval="86400.5"/>
        <uniquenessConstraints><uniquenessConstraint><constraint value="code"/></uniquenessConstraint></uniquenessConstraints>
        <fetchIndex name="bySize">
          <fetchIndexElement property="size" type="Binary" order="descending"/>
          <fetchIndexElement property="code" type="Binary" order="ascending"/>
        </fetchIndex>
      </entity>
      <entity name="Box" parentEntity="Thing" versionHashModifier="2">
        <attribute name="place" optional="YES" attributeType="Composite" compositeName="Place"/>
        <attribute name="price" optional="YES" attributeType="Decimal" defaultValueString="1.25"/>
        <attribute name="count" optional="YES" attributeType="Integer 64" derived="YES" derivationExpression="parts.@count"/>
        <attribute name="extra" optional="YES" attributeType="Transformable" valueTransformerName="Mine" customClassName="NSArray"/>
        <relationship name="parts" optional="YES" toMany="YES" maxCount="20" deletionRule="Cascade" ordered="YES" destinationEntity="Part" inverseName="box" inverseEntity="Part"/>
        <fetchedProperty name="same" optional="YES">
          <fetchRequest name="fetchedPropertyFetchRequest" entity="Box" predicateString="price == $FETCH_SOURCE.price"/>
        </fetchedProperty>
        <compoundIndexes><compoundIndex><index value="price"/><index value="size"/></compoundIndex></compoundIndexes>
        <userInfo><entry key="colour" value="&quot;red&quot;"/></userInfo>
      </entity>
      <entity name="Part">
        <attribute name="id" attributeType="UUID" usesScalarValueType="NO"/>
        <attribute name="cache" optional="YES" transient="YES" attributeType="Undefined"/>
        <relationship name="box" optional="YES" maxCount="1" deletionRule="Nullify" destinationEntity="Box" inverseName="parts" inverseEntity="Box"/>
      </entity>
      <composite name="Place">
        <attribute name="x" optional="YES" attributeType="Double"/>
        <attribute name="y" optional="YES" attributeType="Float" defaultValueString="0.5"/>
      </composite>
      <configuration name="Local"><memberEntity name="Box"/><memberEntity name="Part"/></configuration>
      <fetchRequest name="big" entity="Box" predicateString="size &gt; $SIZE AND ANY parts.id != nil" fetchLimit="5" includeSubentities="NO"/>
      <elements><element name="Thing" positionX="0" positionY="0" width="128" height="60"/></elements>
    </model>
    """
}
